import { expect, test } from "vitest";
import { foldRollups } from "../lib/observe/rollups/fold-rollups.write.ts";
import { createDb } from "../lib/platform/database/db.ts";
import { oldStore } from "../lib/testing/old-store.ts";
import { rollupDrift } from "../lib/testing/rollup-drift.ts";

const MIGRATION = "20261123000300_correct_flow";
const SOURCE = "00000000-0000-7000-8000-000000000001";

/** Group `a`: two events, one ignored when it bounced at the limit, which no kind said. Group `b` is exact. */
const DRIFTED = `
  create table dlq_events_all partition of dlq_events default;
  insert into sources (id, name, kind, config) values ('${SOURCE}', 'orders', 'http', '{}');
  insert into dlq_events (id, source_id, event_id, error_code, fingerprint, status, first_seen, payload_bytes)
  values ('00000000-0000-7000-9000-000000000001', '${SOURCE}', '1', 'X', 'a', 'PENDING', '2026-11-20 08:00Z', 1),
         ('00000000-0000-7000-9000-000000000002', '${SOURCE}', '2', 'X', 'a', 'IGNORED', '2026-11-20 08:00Z', 1),
         ('00000000-0000-7000-9000-000000000003', '${SOURCE}', '3', 'X', 'b', 'PENDING', '2026-11-20 08:00Z', 1);
  insert into dlq_levels (source_id, error_code, status, hour, n)
  select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), 1 from dlq_events;
  insert into dlq_group_levels (fingerprint, source_id, status, n) select fingerprint, source_id, status, 1 from dlq_events;
  insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
  values ('2026-11-20 08:00Z', '${SOURCE}', 'X', 'a', 'parked', 2), ('2026-11-20 08:10Z', '${SOURCE}', 'X', 'a', 'redriven', 1),
         ('2026-11-20 08:20Z', '${SOURCE}', 'X', 'a', 'bounced', 1), ('2026-11-20 09:00Z', '${SOURCE}', 'X', 'a', 'failed', 1),
         ('2026-11-20 08:00Z', '${SOURCE}', 'X', 'b', 'parked', 1)`;

test("a store whose flow drifted at the redrive limit adds up again, from the minute of the bounce (I15)", async () => {
  const { url, query, upgrade } = await oldStore(MIGRATION);
  await query(DRIFTED);
  expect(await upgrade()).toContain(MIGRATION);
  const db = createDb(url, { max: 2 });
  try {
    expect(await rollupDrift(db)).toEqual([]);
    const corrected = "select at, fingerprint, corrected from dlq_group_flow_minutes where corrected <> 0";
    expect(await db.query(corrected)).toEqual([
      { at: Date.parse("2026-11-20T08:20:00Z"), fingerprint: "a", corrected: -1 },
    ]);
    await foldRollups(db);
    expect(await rollupDrift(db)).toEqual([]);
  } finally {
    await db.end();
  }
});
