import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as groups from "@/app/(events)/api/v1/groups/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import * as metrics from "@/app/(observe)/metrics/route";
import type { GroupList } from "@/lib/events/events.shapes";
import type { SizeStats, TopErrors } from "@/lib/observe/stats/stats.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

/** A consumer that writes an id into its error code: each event is a code and a group of its own. */
const CODES = 100_000;

let console: TestConsole;
beforeAll(async () => {
  console = await testConsole();
  const { db } = console.deps;
  const buggy = await addSource(db, "buggy");
  const honest = await addSource(db, "honest");
  const hour = "date_trunc('hour', now())";
  const each = `select $1::uuid as source, 'CODE-' || i as code, lpad(to_hex(i), 16, '0') as print
                  from generate_series(1, ${CODES}) i
                union all select $2, 'TIMEOUT', repeat('f', 16)`;
  // A hundred thousand rows at once take longer than a request may, on a busy machine.
  const insert = (text: string) =>
    db.transaction((tx) => tx.run(text, [buggy, honest]), { statementTimeoutMs: 120_000 });
  const n = "case code when 'TIMEOUT' then 7 else 1 end";
  await insert(`insert into dlq_levels select source, code, 'PENDING', ${hour}, ${n} from (${each}) e`);
  await insert(`insert into dlq_group_levels select print, source, 'PENDING', ${n} from (${each}) e`);
  await insert(`insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
                select date_trunc('minute', now()), source, code, print, 'parked', ${n} from (${each}) e`);
  await insert(`insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
                select print, code, 'it broke', source, now(), now() from (${each}) e`);
  await db.run("analyze");
});
afterAll(() => console.close());

describe("a hundred thousand error codes", () => {
  test("are a scrape of at most 50 series and `other` for each source", async () => {
    const { status, text } = await console.call(metrics.GET);
    expect(status).toBe(200);
    const series = text.split("\n").filter((line) => line.startsWith("dlq_size{"));
    expect(series).toHaveLength(52);
    expect(text).toContain(`dlq_size{source="buggy",error_code="other"} ${CODES - 50}\n`);
    expect(text).toContain('dlq_size{source="honest",error_code="TIMEOUT"} 7\n');
    expect(text).toContain('top_error_code{error_code="TIMEOUT"} 7\n');
    expect(text.length).toBeLessThan(60_000);
  });

  test("are 50 codes and `other` in the size over time, and add up", async () => {
    const { status, body, text } = await console.call<SizeStats>(size.GET, { query: "?from=-1h" });
    expect(status).toBe(200);
    expect(body.now).toBe(CODES + 7);
    const last = body.buckets.at(-1)!;
    expect(last.total).toBe(CODES + 7);
    expect(Object.keys(last.byErrorCode)).toHaveLength(51);
    expect(last.byErrorCode).toMatchObject({ TIMEOUT: 7, other: CODES - 49 });
    expect(text.length).toBeLessThan(200_000);
  });

  test.each(["", "?from=-1h"])("are 50 of the top errors, with the sum of all (%s)", async (query) => {
    const { body } = await console.call<TopErrors>(top.GET, { query });
    expect(body.buckets).toHaveLength(50);
    expect(body.buckets[0]).toMatchObject({ errorCode: "TIMEOUT", count: 7 });
    expect(body.total).toBe(CODES + 7);
  });

  test("leave the groups a list whose pages come in time", async () => {
    const first = await console.call<GroupList>(groups.GET, { query: "?limit=50" });
    expect(first.status).toBe(200);
    expect(first.body.items).toHaveLength(50);
    expect(first.body.items[0]).toMatchObject({ errorCode: "TIMEOUT", sources: ["honest"], counts: { PENDING: 7 } });
    const next = await console.call<GroupList>(groups.GET, { query: `?limit=50&cursor=${first.body.nextCursor}` });
    expect(next.status).toBe(200);
    const shown = [...first.body.items, ...next.body.items].map((group) => group.fingerprint);
    expect(new Set(shown).size).toBe(100);
  });
});

test("two hundred partitions that two workers read are a scrape of 50 series and `other`, none of them twice", async () => {
  const { db } = console.deps;
  const part = (from: number, to: number) =>
    JSON.stringify(Array.from({ length: to - from }, (_, index) => ({ name: `t/${from + index}`, lag: from + index })));
  // Partition 99 moves from one worker to the other.
  for (const [worker, parts] of [
    ["w-1", part(0, 100)],
    ["w-2", part(99, 200)],
  ]) {
    await db.run(
      `insert into source_consumers (source_id, worker, state, mode_at, lag, parked, parts, part_count)
       select id, $1, 'running', mode_at, 1, 7, $2::jsonb, 100 from sources where name = 'honest'`,
      [worker, parts],
    );
  }
  const { text } = await console.call(metrics.GET);
  const lags = text.split("\n").filter((line) => line.startsWith("parkade_source_lag{"));
  expect(lags).toHaveLength(51);
  expect(new Set(lags.map((line) => line.split(" ")[0])).size).toBe(51);
  const sum = lags.reduce((total, line) => total + Number(line.split(" ")[1]), 0);
  expect(sum).toBe((199 * 200) / 2);
  expect(text).toContain('parkade_source_parked_total{source="honest",worker="w-1"} 7');
  expect(text).toContain('parkade_source_consumers{source="honest",state="running"} 2');
});
