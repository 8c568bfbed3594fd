import { beforeAll, expect, test } from "vitest";
import { countEvents } from "@/lib/events/list/event-count.read";
import { exportEvents } from "@/lib/events/list/event-export.read";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { type Plan, scansOf } from "@/lib/testing/explained-statements";
import { addSource, countStored } from "@/lib/testing/letters";
import { storeOfFile } from "@/lib/testing/store-of-file";

/** More held events than are looked up one by one, and than a change takes. */
const HELD = 10_800;
/** More newer events than are looked at first. */
const ALONE = 1_200;

const { db } = storeOfFile({ max: 2 });
const viewer = localViewer("ada");
const filter = scopeFilter(viewer, { status: ["HELD"] });

beforeAll(async () => {
  await ensurePartitions(db, Date.now() - 86_400_000, Date.now());
  await addSource(db, "few");
  await addSource(db, "orders");
  // Two held events; then aggregates of thirteen events, of which twelve are held.
  await park("few", { events: 3, each: 3, agoMs: 3_600_000 });
  await park("orders", { events: (HELD / 12) * 13, each: 13, agoMs: 1_800_000 });
});

/** Events of aggregates of `each` events, a millisecond apart. */
async function park(source: string, { events, each, agoMs }: { events: number; each: number; agoMs: number }) {
  await db.run(
    `with fresh as materialized (
       select uuidv7(make_interval(secs => (n - $3::float8) / 1000)) as id, n from generate_series(0, $2::int - 1) n),
     facts as (insert into dlq_event_facts (id, payload_bytes, aggregate_id) select id, 2, $1 || n / $4::int from fresh)
     insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, attempts, first_seen)
     select f.id, s.id, $1 || '-' || n, 'order', $1 || n / $4::int, 1 + n % $4::int, 'TIMEOUT', 'g', 1, uuid_extract_timestamp(f.id)
       from fresh f, sources s where s.name = $1`,
    [source, events, agoMs, each],
  );
  await db.run("truncate aggregate_lines, dlq_levels, dlq_group_levels");
  await db.run(
    `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf("true")}) e where part is not null`,
  );
  await countStored(db);
  await db.run("vacuum analyze");
}

/** The store, which also counts the rows of lines and of events that statements looked at. */
function looking(): { db: Db; looked: { lines: number; events: number } } {
  const looked = { lines: 0, events: 0 };
  const explaining = <Store extends Queryable>(store: Store): Store => ({
    ...store,
    query: async (text: string, values: readonly unknown[] = [], options?: Parameters<Queryable["query"]>[2]) => {
      const [row] = await store.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `explain (analyze, format json) ${text}`,
        values,
      );
      for (const { table, rows } of scansOf(row!["QUERY PLAN"][0].Plan)) {
        if (table === "aggregate_lines") looked.lines += rows;
        if (table.startsWith("dlq_events")) looked.events += rows;
      }
      return store.query(text, values, options);
    },
  });
  const transaction: Db["transaction"] = (work, options) => db.transaction((tx) => work(explaining(tx)), options);
  return { db: { ...explaining(db), transaction }, looked };
}

const page = (on: Queryable, from: string | null = null) =>
  scanEvents(on, { filter, nowMs: Date.now(), from, towards: "older", limit: 50 });

test("a page of frequent HELD events reads as far as the page, and its count as far as its bound", async () => {
  const first = looking();
  const rows = await page(first.db);
  expect(rows.map(({ version }) => version)).not.toContain(1);
  expect(rows).toHaveLength(50);
  // Each event, the first row of its line, and that row's event.
  expect(first.looked.lines).toBeLessThan(120);
  expect(first.looked.events).toBeLessThan(300);
  const counting = looking();
  const { total } = await countEvents(counting.db, viewer, { status: ["HELD"] }, Date.now());
  expect(total).toMatchObject({ value: 2_000, kind: "atLeast" });
  expect(counting.looked.lines).toBeLessThan(20_000);
});

test("a count of many parked events looks at the order of some, and says that more may be HELD", async () => {
  const counting = looking();
  const { total, byStatus } = await countEvents(counting.db, viewer, {}, Date.now());
  expect(total.kind).toBe("exact");
  expect(byStatus.HELD).toMatchObject({ kind: "atLeast" });
  expect(byStatus.HELD!.value).toBeGreaterThan(0);
  expect(counting.looked.lines).toBeLessThan(1_000);
});

test("HELD events behind newer ones of which none is held are found, and all of them exported", async () => {
  await park("orders", { events: ALONE, each: 1, agoMs: 60_000 });
  const rows = await page(db);
  expect(rows).toHaveLength(50);
  expect(rows[0]!.eventId).toBe(`orders-${(HELD / 12) * 13 - 1}`);
  let exported = 0;
  for await (const events of exportEvents(db, viewer, { status: ["HELD"] }, Date.now())) exported += events.length;
  expect(exported).toBe(HELD + 2);
});

test("a change takes the held events of its request, and refuses more than can be named", async () => {
  const select = (asked: object) => readScopedSelection(db, viewer, "redrive", { filter: asked });
  await expect(select({ status: ["HELD"] })).rejects.toMatchObject({
    code: "unsupported-filter",
    fields: [{ field: "select.filter.status" }],
  });
  await expect(select({ "not.status": ["HELD"], source: ["few"] })).rejects.toMatchObject({
    code: "unsupported-filter",
    fields: [{ field: "select.filter.not.status" }],
  });
  const selection = await select({ status: ["HELD"], source: ["few"] });
  const walk = { selection, asOfMs: Date.now(), cutoff: cutoffOf(selection, Date.now()), limit: 1 };
  const [newest] = await readCandidates(db, { ...walk, after: null });
  // What was done to the newest ended what holds the other.
  await db.run("delete from aggregate_lines where aggregate_id = 'few0' and place = 1");
  const [other] = await readCandidates(db, { ...walk, after: newest!.id });
  expect([newest!.eventId, other!.eventId]).toEqual(["few-2", "few-1"]);
});

test("the only HELD events of a store are found by its lines", async () => {
  await db.run("delete from dlq_events where event_id like 'orders-%'");
  await park("orders", { events: 2 * ALONE, each: 1, agoMs: 30_000 });
  const sparse = looking();
  expect((await page(sparse.db)).map(({ eventId }) => eventId)).toEqual(["few-2", "few-1"]);
  expect(sparse.looked.events).toBeLessThan(2_500);
  const { total } = await countEvents(db, viewer, { status: ["HELD"] }, Date.now());
  expect(total).toMatchObject({ value: 2, kind: "exact" });
});
