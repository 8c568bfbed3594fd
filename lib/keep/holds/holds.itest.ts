import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { type HeldFacts, keepHoldsAsTheyAre, readHeld, readHeldFacts } from "@/lib/keep/holds/held.read";
import { listHolds } from "@/lib/keep/holds/holds.read";
import { type HoldRequest, holdRequestSchema } from "@/lib/keep/holds/holds.shapes";
import { liftHold } from "@/lib/keep/holds/lift-hold";
import { placeHold } from "@/lib/keep/holds/place-hold";
import { previewRemoval } from "@/lib/keep/removal/removal-preview.read";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { systemClock } from "@/lib/platform/clock";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const ALL = { filter: {} };

let folder: string;
let archive: ArchiveStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parkade-archive-"));
  archive = openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock });
});
afterEach(async () => {
  await archive.close();
  await rm(folder, { recursive: true });
});

const deps = (own: ArchiveStore = archive) => ({ ...world.deps, archive: own });
const place = (scope: HoldRequest["scope"], window: Partial<HoldRequest> = {}, viewer: Viewer = ADA) =>
  placeHold(world.deps, { scope, reason: "claim 2026/118", ...window }, viewer);
const lift = (id: string, viewer: Viewer = ADA) => liftHold(world.deps, { id, reason: "the claim is settled" }, viewer);
const preview = () => previewRemoval(world.db, ADA, { select: ALL, nowMs: Date.now(), place: "x" });

async function remove(own: ArchiveStore = archive): Promise<string> {
  const { id } = await removeEvents(deps(own), { select: ALL, reason: "the disk is full" }, ADA);
  await workBulkOperation(deps(own), id!, new AbortController().signal);
  return id!;
}

/** IGNORED events: of two sources, with a tag, an aggregate and an error code each. */
async function parkIgnored(): Promise<void> {
  await world.source("billing");
  const own = (index: number) => ({
    aggregateId: `order-${index}`,
    aggregateType: index < 2 ? "order" : "invoice",
    tags: { customerId: `c-${index % 2}` },
  });
  await world.park(4, own);
  await world.park(2, (index) => ({ ...own(index), eventId: `bill-${index}`, errorCode: "DECLINED" }), "billing");
  await ignoreEvents(deps(), { select: ALL, reason: "test orders" }, ADA);
}

const left = async () => {
  const rows = await world.db.query<{ eventId: string }>(`select event_id as "eventId" from dlq_events order by 1`);
  return rows.map(({ eventId }) => eventId);
};

describe("a legal hold", () => {
  test.each<[string, HoldRequest["scope"], string[]]>([
    ["an event", { eventId: "event-0001" }, ["event-0001"]],
    ["an event of another source", { eventId: "event-0001", source: "billing" }, []],
    ["an aggregate in every source", { aggregateId: "order-1" }, ["bill-1", "event-0001"]],
    ["an aggregate of a type", { aggregateId: "order-1", aggregateType: "invoice" }, []],
    [
      "an aggregate of its type, in a source",
      { aggregateId: "order-1", aggregateType: "order", source: "orders" },
      ["event-0001"],
    ],
    ["a tag", { tag: { name: "customerId", value: "c-1" } }, ["bill-1", "event-0001", "event-0003"]],
    ["a tag in a source", { tag: { name: "customerId", value: "c-1" }, source: "billing" }, ["bill-1"]],
    ["a tag of another name", { tag: { name: "orderId", value: "c-1" } }, []],
    ["an error code", { errorCode: "DECLINED" }, ["bill-0", "bill-1"]],
    ["a source", { source: "billing" }, ["bill-0", "bill-1"]],
  ])("over %s keeps what it covers, in words and in counts, and nothing else", async (_, scope, covered) => {
    await parkIgnored();
    await place(scope);
    const count = covered.length;
    expect(await preview()).toMatchObject({
      removable: 6 - count,
      kept: count,
      keptByReason: count === 0 ? {} : { held: count },
      heldByStatus: count === 0 ? {} : { IGNORED: count },
    });
    const id = await remove();
    expect(await readBulkOperation(world.db, ADA, id)).toMatchObject({
      state: "DONE",
      changed: 6 - count,
      refusedByReason: count === 0 ? {} : { held: count },
    });
    expect(await left()).toEqual(covered);
  });

  test("covers what was first seen within its window", async () => {
    await parkIgnored();
    const [row] = await world.db.query<{ at: string }>("select max(first_seen) as at from dlq_events", [], {
      isoTimes: true,
    });
    const [from, after] = [row!.at, new Date(Date.parse(row!.at) + 1).toISOString()];
    const before = await place({ source: "orders" }, { to: "2020-01-01T00:00:00Z" });
    expect(await preview()).toMatchObject({ removable: 6 });
    await lift(before);
    await place({ source: "orders" }, { from: after });
    expect(await preview()).toMatchObject({ removable: 6 });
    await place({ source: "billing" }, { from: "2020-01-01T00:00:00Z", to: after });
    expect(await preview()).toMatchObject({ removable: 4, keptByReason: { held: 2 } });
    await expect(place({ source: "orders" }, { from, to: from })).rejects.toMatchObject({
      code: "invalid-window",
      fields: [{ field: "to" }],
    });
  });

  test("keeps nothing after it was lifted, by whom and why is on record, and another hold goes on", async () => {
    await parkIgnored();
    const one = await place({ aggregateId: "order-1", source: "orders" });
    const two = await place({ eventId: "event-0001" });
    await lift(one);
    await expect(lift(one)).rejects.toMatchObject({ code: "unknown-hold" });
    expect(await preview()).toMatchObject({ removable: 5, keptByReason: { held: 1 } });
    await lift(two);
    expect(await preview()).toMatchObject({ removable: 6, keptByReason: {} });
    const all = { limit: 10, cursor: null, state: null };
    expect((await listHolds(world.db, ADA, all)).items[1]).toMatchObject({
      ...{ id: one, liftedBy: "ada", liftReason: "the claim is settled" },
      scope: { aggregateId: "order-1", source: "orders" },
    });
    const entries = await world.db.query(
      `select action, actor, reason, before, after from audit_entries where subject_kind = 'hold' and subject_id = $1 order by id`,
      [one],
    );
    expect(entries).toEqual([
      {
        ...{ action: "hold.placed", actor: "ada", reason: "claim 2026/118", before: null },
        after: { scope: { aggregateId: "order-1", source: "orders" }, from: null, to: null },
      },
      {
        ...{ action: "hold.lifted", actor: "ada", reason: "the claim is settled", after: null },
        before: { scope: { aggregateId: "order-1", source: "orders" } },
      },
    ]);
  });

  test("that is placed while a removal writes to the archive covers what moved there, and keeps the next chunk", async () => {
    await world.source("billing");
    await world.park(1);
    await world.park(1, () => ({ eventId: "bill-0" }), "billing");
    await ignoreEvents(deps(), { select: ALL, reason: "test orders" }, ADA);
    let placed: string | null = null;
    const slow: ArchiveStore = {
      ...archive,
      put: async (key, bytes) => {
        // The transaction of the chunk waits for this write. The hold does not wait for it.
        placed ??= await place({ tag: { name: "customerId", value: "none" } });
        await archive.put(key, bytes);
      },
    };
    const id = await remove(slow);
    expect(placed).not.toBeNull();
    expect(await readBulkOperation(world.db, ADA, id)).toMatchObject({ state: "DONE", changed: 2 });
  });

  test("is not placed while a transaction that destroys events runs, and is seen by the next one", async () => {
    await parkIgnored();
    const [id] = await world.idsOf(["event-0001"]);
    const order: string[] = [];
    let placing: Promise<unknown> = Promise.resolve();
    await world.db.transaction(async (tx) => {
      await keepHoldsAsTheyAre(tx);
      expect(await readHeld(tx, [id!])).toEqual(new Set());
      placing = place({ eventId: "event-0001" }).then(() => order.push("placed"));
      await expect
        .poll(async () => {
          const [row] = await world.db.query<{ n: number }>(
            "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted",
          );
          return row!.n;
        })
        .toBe(1);
      order.push("destroyed");
    });
    await placing;
    expect(order).toEqual(["destroyed", "placed"]);
    await world.db.transaction(async (tx) => {
      await keepHoldsAsTheyAre(tx);
      expect(await readHeld(tx, [id!])).toEqual(new Set([id!]));
    });
  });
});

test("facts of an event outside of the store are judged as the event in the store", async () => {
  await parkIgnored();
  const rows = await world.db.query<HeldFacts>(
    `select e.id, s.name as source, e.event_id as "eventId", e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId",
            e.error_code as "errorCode", e.tags, e.first_seen as "firstSeenMs"
       from dlq_event_rows e join sources s on s.id = e.source_id`,
  );
  const ids = rows.map(({ id }) => id);
  expect(await readHeldFacts(world.db, rows)).toEqual(new Set());
  const scopes: HoldRequest["scope"][] = [
    { eventId: "event-0002" },
    { aggregateId: "order-1", aggregateType: "order" },
    { tag: { name: "customerId", value: "c-1" }, source: "orders" },
    { errorCode: "DECLINED" },
    { source: "orders" },
  ];
  for (const scope of scopes) {
    const id = await place(scope, { from: "2020-01-01T00:00:00Z" });
    const held = await readHeld(world.db, ids);
    expect(held.size).toBeGreaterThan(0);
    expect(await readHeldFacts(world.db, rows)).toEqual(held);
    await lift(id);
  }
});

describe("the question for what is held", () => {
  test("looks at no event while no hold is in force, and at few holds while there are many", async () => {
    await parkIgnored();
    const ids = await world.idsOf(await left());
    const plan: string[] = [];
    const query = async (text: string, values: readonly unknown[] = []) => {
      const lines = await world.db.query<{ "QUERY PLAN": string }>(`explain analyze ${text}`, values);
      plan.push(...lines.map((line) => line["QUERY PLAN"]));
      return [];
    };
    await readHeld({ ...world.db, query }, ids);
    const scans = plan.filter((line) => /Scan.* on dlq_/.test(line));
    expect(scans.length).toBeGreaterThan(0);
    expect(scans.filter((line) => !line.includes("never executed"))).toEqual([]);
    await world.db.run(
      `insert into legal_holds (id, scope, value, tag, reason, created_by, created_at)
       select gen_random_uuid(), scope, scope || n, case when scope = 'tag' then 'customerId' end, 'a claim', 'ada', now()
         from generate_series(1, 25000) n, unnest(array['eventId', 'aggregateId', 'errorCode', 'source', 'tag']) scope`,
    );
    await world.db.run("analyze legal_holds");
    await place({ eventId: "event-0001" });
    const many = countingRows(world.db, "legal_holds");
    await readHeld(many.db, ids);
    expect(await readHeld(world.db, ids)).toEqual(new Set(await world.idsOf(["event-0001"])));
    // Five lookups for each event, and one row that says that there are any.
    expect(many.rows()).toBeLessThanOrEqual(ids.length * 5 + 1);
  });
});

describe("a viewer of one source", () => {
  const CLERK: Viewer = { name: "clerk", means: "session", sources: ["orders"], actions: "all" };
  const list = { limit: 10, cursor: null, state: "live" } as const;

  test("places, sees and lifts holds of it alone", async () => {
    await parkIgnored();
    const own = await place({ errorCode: "TIMEOUT", source: "orders" }, {}, CLERK);
    const other = await place({ source: "billing" });
    const everywhere = await place({ eventId: "event-0001" });
    expect((await listHolds(world.db, CLERK, list)).items.map(({ id }) => id)).toEqual([own]);
    await expect(place({ eventId: "event-0001" }, {}, CLERK)).rejects.toMatchObject({ code: "forbidden" });
    await expect(place({ source: "billing" }, {}, CLERK)).rejects.toMatchObject({ code: "forbidden" });
    await expect(lift(other, CLERK)).rejects.toMatchObject({ code: "unknown-hold" });
    await expect(lift(everywhere, CLERK)).rejects.toMatchObject({ code: "forbidden" });
    await lift(own, CLERK);
    expect((await listHolds(world.db, ADA, list)).items).toHaveLength(2);
    const reader: Viewer = { ...CLERK, actions: ["view", "remove"] };
    await expect(place({ source: "orders" }, {}, reader)).rejects.toMatchObject({ code: "forbidden" });
  });
});

test.each([
  [{ eventId: "a", errorCode: "b" }],
  [{ tag: { name: "a" } }],
  [{}],
  [{ aggregateType: "order", source: "orders" }],
  [{ eventId: "a\u0000" }],
  [{ eventId: "" }],
])("a scope that is none is refused: %j", (scope) => {
  expect(holdRequestSchema.safeParse({ scope, reason: "a claim" }).success).toBe(false);
});
