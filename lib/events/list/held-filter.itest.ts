import { beforeAll, expect, test } from "vitest";
import type { EventList } from "@/lib/events/events.shapes";
import { countEvents } from "@/lib/events/list/event-count.read";
import { exportEvents } from "@/lib/events/list/event-export.read";
import { listEvents } from "@/lib/events/list/event-list.read";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { EVENT_SORTS } from "@/lib/events/list/event-sort.pure";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { uuidv7TimeMs } from "@/lib/platform/ids";
import { cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { type Plan, scansOf } from "@/lib/testing/explained-statements";
import { addSource } from "@/lib/testing/letters";
import { parkLines } from "@/lib/testing/park-lines";
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
  await parkLines(db, "few", { events: 3, each: 3, agoMs: 3_600_000 });
  await parkLines(db, "orders", { events: (HELD / 12) * 13, each: 13, agoMs: 1_800_000 });
});

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

const page = async (on: Queryable, from: string | null = null) =>
  (await scanEvents(on, { filter, nowMs: Date.now(), from, towards: "older", limit: 50 })).rows;

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
  await parkLines(db, "orders", { events: ALONE, each: 1, agoMs: 60_000 });
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

/** More than a page examines. */
const EXAMINED = 52_000;

test("the only HELD events of a store are found by pages that examine a bounded number of events each, towards either side", async () => {
  await db.run("delete from dlq_events where event_id like 'orders-%'");
  await db.run("delete from aggregate_lines where aggregate_id like 'orders%'");
  // The row that the test before has deleted stands in its line again.
  await parkLines(db, "few", { events: 0, each: 3, agoMs: 0 });
  await parkLines(db, "orders", { events: EXAMINED, each: 1, agoMs: 70_000 });
  const scan = { filter, nowMs: Date.now(), limit: 50 };
  const sparse = looking();
  const first = await scanEvents(sparse.db, { ...scan, from: null, towards: "older" });
  expect(first.rows).toEqual([]);
  expect(first.examinedTo).not.toBeNull();
  // Of each its row, and its entry in the index by which the end of the page was found. None comes after another in its line.
  expect(sparse.looked.events).toBeLessThan(2.2 * EXAMINED);
  expect(sparse.looked.lines).toBeLessThan(100);
  const second = await scanEvents(db, { ...scan, from: first.examinedTo, towards: "older" });
  expect(second.rows.map(({ eventId }) => eventId)).toEqual(["few-2", "few-1"]);
  expect(second.examinedTo).toBeNull();
  const third = await scanEvents(db, { ...scan, from: second.rows[0]!.id, towards: "newer" });
  expect(third.rows).toEqual([]);
  const rest = await scanEvents(db, { ...scan, from: third.examinedTo, towards: "newer" });
  expect(rest).toEqual({ rows: [], examinedTo: null });
  const list = (cursor: string | null) =>
    listEvents(db, viewer, { filter: { status: ["HELD"] }, limit: 50, cursor }, Date.now());
  const listed = await list(null);
  expect(listed).toMatchObject({ items: [], nextCursor: expect.any(String), prevCursor: null });
  expect(listed.examinedTo).toBe(new Date(uuidv7TimeMs(first.examinedTo!)).toISOString());
  const next = await list(listed.nextCursor);
  expect(next).toMatchObject({
    items: [{ eventId: "few-2" }, { eventId: "few-1" }],
    nextCursor: null,
    examinedTo: null,
  });
  for (const sort of EVENT_SORTS) {
    const pages: EventList[] = [];
    for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
      const one = await listEvents(db, viewer, { filter: { status: ["HELD"] }, limit: 50, cursor, sort }, Date.now());
      pages.push(one);
      cursor = one.nextCursor ?? undefined;
    }
    expect(pages.map(({ examinedTo }) => examinedTo === null)).toEqual([false, true]);
    expect(pages.flatMap(({ items }) => items.map(({ eventId }) => eventId)).sort()).toEqual(["few-1", "few-2"]);
  }
  let exported = 0;
  for await (const events of exportEvents(db, viewer, { status: ["HELD"] }, Date.now())) exported += events.length;
  expect(exported).toBe(2);
  const { total } = await countEvents(db, viewer, { status: ["HELD"] }, Date.now());
  expect(total).toMatchObject({ value: 2, kind: "exact" });
});
