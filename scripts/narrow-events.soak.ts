import { expect, test } from "vitest";
import { oldStore } from "../lib/testing/old-store.ts";

const MIGRATION = "20261123000401_narrow_events";

const ID = "00000000-0000-7000-9000-00000000000";

/** Two days, an event of each status, and one without what may be missing. */
const STATE = `
  create table dlq_events_20260101 partition of dlq_events for values from ('${ID}0') to ('${ID}3');
  create table dlq_events_20260102 partition of dlq_events for values from ('${ID}3') to ('${ID}9');
  insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, event_type, trace_id, error_code,
                          fingerprint, status, attempts, bounces, redrives, failures, first_seen, failed_at, last_attempt_at,
                          last_error_code, last_error, last_operator, redrive_at, confirmed_at, cooldown_until, payload_bytes,
                          tags, bounced_redrives, confirmed_redrive)
  select ('${ID}' || n)::uuid, '${ID}1', 'event-' || n, 'order', '42', n, 'OrderPaid', 'trace-' || n, 'TIMEOUT', 'f' || n,
         (array['PENDING', 'QUEUED', 'REDRIVEN', 'IGNORED'])[n], n, 1, 2, 3, 'epoch', '2026-01-02', '2026-01-03', 'HTTP_503',
         'away', 'maria', '2026-01-04', '2026-01-05', '2026-01-06', 7, '{"orderId":"1"}', array['${ID}8'::uuid], '${ID}8'
    from generate_series(1, 4) n;
  insert into dlq_events (id, source_id, event_id, error_code, fingerprint, first_seen, payload_bytes)
  values ('${ID}5', '${ID}1', 'bare', 'UNKNOWN', 'f5', 'epoch', 0)`;

test("a store of before keeps every column of every event, and its days", async () => {
  const { query, upgrade } = await oldStore(MIGRATION);
  await query(STATE);
  const known = await query("select * from dlq_events order by id");
  expect(await upgrade()).toContain(MIGRATION);

  const kept = await query("select * from dlq_event_rows order by id");
  expect(kept.map(({ found_aggregate_id: found, ...row }) => [row, found])).toEqual(
    // Marks of admission came later, and revisions: nothing is marked, and what arrived is the current one.
    known.map((row) => [{ ...row, admission: null, revision: 1 }, row.aggregate_id]),
  );
  const days = (table: string) =>
    query(`select tableoid::regclass::text as day, count(*)::int as n from ${table} group by 1 order by 1`);
  expect(await days("dlq_events")).toEqual([
    { day: "dlq_events_20260101", n: 2 },
    { day: "dlq_events_20260102", n: 3 },
  ]);
  expect(await days("dlq_event_facts")).toEqual([
    { day: "dlq_event_facts_20260101", n: 2 },
    { day: "dlq_event_facts_20260102", n: 3 },
  ]);
});
