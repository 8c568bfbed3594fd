import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { BULK_NOW_MAX } from "@/lib/events/events.shapes";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { advanceBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { CONCURRENCY } from "@/workers/lanes";
import { BULK_CHUNK, workBulkOperation } from "@/workers/work-bulk-operation";

/** Of three chunks. */
const EVENTS = 2 * BULK_CHUNK + 100;
/** The fewest that are no change of one transaction: two chunks. */
const TWO_CHUNKS = BULK_NOW_MAX + 1;
const ALL = { select: { filter: {} }, reason: "known fault" };

let world: World;

const operation = async (id: string) => (await readBulkOperation(world.db, localViewer(), id))!;
const until = (id: string, wanted: (operation: BulkOperationOut) => boolean) =>
  expect.poll(async () => wanted(await operation(id)), { interval: 20 }).toBe(true);

/** Each chunk takes a moment longer, so that something can happen within one. */
async function slowChunks(): Promise<void> {
  await world.db.run(`create function slow_chunk() returns trigger language plpgsql as
    'begin if new.cursor is distinct from old.cursor then perform pg_sleep(1.2); end if; return new; end'`);
  await world.db.run("create trigger slow before update on bulk_operations for each row execute function slow_chunk()");
}

async function start(change: Parameters<typeof ignoreEvents>[1] = ALL): Promise<string> {
  const answer = await ignoreEvents(world.deps, change, localViewer("ada"));
  expect(answer).toMatchObject({ state: "RUNNING", changed: 0, ids: null });
  return answer.id!;
}

const work = (id: string) => workBulkOperation(world.deps, id, new AbortController().signal);

/** The operation's audit: one entry, which names each changed event once. */
async function audited(id: string, changed: number): Promise<void> {
  const entries = await listAudit(world.db, localViewer(), { ...AUDIT_ALL, action: "event.ignored" });
  expect(entries.items).toMatchObject([
    { action: "event.ignored", actor: "ada", reason: "known fault", operationId: id, count: changed },
  ]);
  const [row] = await world.db.query<{ n: number; events: number }>(
    "select count(*) as n, count(distinct event_id) as events from audit_subjects where entry_id = $1",
    [entries.items[0]!.id],
  );
  expect(row).toEqual({ n: changed, events: changed });
}
const AUDIT_ALL = {
  limit: 50,
  cursor: null,
  actor: null,
  by: null,
  action: null,
  subjectKind: null,
  subjectId: null,
  eventId: null,
  redriveId: null,
  operationId: null,
  fromMs: null,
  toMs: null,
};

describe("a bulk operation", () => {
  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
  });
  afterEach(async () => {
    const broken = await world.broken();
    await world.close();
    expect(broken).toEqual([]);
  });

  test("does not wait for a redrive whose slices hold every place of their lane", async () => {
    const sent = 1_000;
    await world.park(BULK_NOW_MAX + sent + 1, (index) => (index < sent ? { errorCode: "SENT_SLOWLY" } : {}));
    await world.worker();
    await world.request({ select: { filter: { errorCode: ["SENT_SLOWLY"] } }, ratePerSecond: 2 });
    const busy = () => world.deps.lane.jobs("main", ["active"]);
    await expect.poll(async () => (await busy())?.length).toBe(CONCURRENCY.main);
    const id = await start({ select: { filter: { errorCode: ["UPSTREAM_5XX"] } }, reason: "known fault" });
    await until(id, ({ state }) => state === "DONE");
    expect((await operation(id)).changed).toBe(TWO_CHUNKS);
    expect((await world.statuses()).QUEUED).toBeGreaterThan(sent / 2);
  });

  test("goes on where its worker was killed, to the exact count", async () => {
    await world.park(EVENTS);
    await slowChunks();
    const first = await world.doomedWorker();
    const id = await start();
    await until(id, ({ changed }) => changed >= BULK_CHUNK);
    first.kill("SIGKILL");
    const half = await operation(id);
    expect(half.state).toBe("RUNNING");
    expect(half.changed).toBeLessThan(EVENTS);
    await world.worker();
    await until(id, ({ state }) => state === "DONE");
    expect(await operation(id)).toMatchObject({
      changed: EVENTS,
      refused: 0,
      expected: { value: EVENTS, kind: "exact" },
    });
    expect(await world.statuses()).toEqual({ IGNORED: EVENTS });
    await audited(id, EVENTS);
  });

  test("that is asked for twice under one key, and walked by two at the same time, is one, of what had arrived at its request", async () => {
    await world.park(TWO_CHUNKS);
    const idempotency = { actor: "ada", key: "same", fingerprint: "same" };
    const [id, again] = await Promise.all([start({ ...ALL, idempotency }), start({ ...ALL, idempotency })]);
    expect(again).toBe(id);
    await world.park(3, (index) => ({ eventId: `late-${index}` }));
    await Promise.all([work(id), work(id)]);
    expect(await operation(id)).toMatchObject({ state: "DONE", changed: TWO_CHUNKS, refused: 0 });
    expect(await world.statuses()).toEqual({ IGNORED: TWO_CHUNKS, PENDING: 3 });
    await audited(id, TWO_CHUNKS);
  });

  test("begins no chunk after its cancel, not even one that a worker was about to begin", async () => {
    await world.park(TWO_CHUNKS);
    const [last] = await world.idsOf(["event-0000"]);
    const id = await start();
    await cancelBulkOperation(world.deps, { id, reason: "wrong filter" }, localViewer("grace"));
    await cancelBulkOperation(world.deps, { id }, localViewer("grace"));
    expect(await operation(id)).toMatchObject({ state: "CANCELLED", cancelledBy: "grace", changed: 0, etaMs: null });
    const entries = await listAudit(world.db, localViewer(), { ...AUDIT_ALL, action: "operation.cancelled" });
    expect(entries.items).toMatchObject([{ actor: "grace", reason: "wrong filter", subjectId: id }]);
    expect(await world.db.transaction((tx) => advanceBulkOperation(tx, id, null, last!))).toBe(false);
    await work(id);
    expect(await world.statuses()).toEqual({ PENDING: TWO_CHUNKS });
  });

  test("is taken back by its id: exactly what it changed", async () => {
    const changed = TWO_CHUNKS;
    await world.park(changed + 1);
    const [first] = await world.idsOf(["event-0001"]);
    await ignoreEvents(world.deps, { select: { ids: [first!] }, reason: "before" }, localViewer("grace"));
    const id = await start();
    await expect(
      releaseEvents(world.deps, { select: { operation: id }, reason: "too early" }, localViewer("ada")),
    ).rejects.toMatchObject({ code: "illegal-transition" });
    await work(id);
    expect(await operation(id)).toMatchObject({ changed, refusedByReason: { "already-ignored": 1 } });
    const undo = await releaseEvents(
      world.deps,
      { select: { operation: id }, reason: "undone", keepLimits: true },
      localViewer("ada"),
    );
    await work(undo.id!);
    expect(await operation(undo.id!)).toMatchObject({
      state: "DONE",
      kind: "release",
      changed,
      refused: 0,
    });
    expect(await world.statuses()).toEqual({ IGNORED: 1, PENDING: changed });
  });

  test("changes the neighbours of an event whose change the store refuses", async () => {
    await world.park(TWO_CHUNKS);
    await world.db.run(
      "alter table dlq_events add constraint refuses check (event_id <> 'event-1023' or status <> 'IGNORED')",
    );
    const id = await start();
    await work(id);
    expect(await operation(id)).toMatchObject({
      state: "DONE",
      changed: TWO_CHUNKS - 1,
      refusedByReason: { "store-refused": 1 },
    });
    await audited(id, TWO_CHUNKS - 1);
  });

  test("confirms a set as one entry, and remembers it for the dry run", async () => {
    await world.park(BULK_NOW_MAX + 10);
    const answer = await confirmEvents(world.deps, { ...ALL, consumer: "billing" }, localViewer("ada"));
    await work(answer.id!);
    expect(await operation(answer.id!)).toMatchObject({ kind: "confirm", changed: BULK_NOW_MAX + 10 });
    expect(await world.statuses()).toEqual({ REDRIVEN: BULK_NOW_MAX + 10 });
    expect(await world.db.query("select count(*) as n from processed_events where consumer = 'billing'")).toEqual([
      { n: BULK_NOW_MAX + 10 },
    ]);
  });
});
