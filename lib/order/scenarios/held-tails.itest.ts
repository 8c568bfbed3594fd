import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { countEvents } from "@/lib/events/list/event-count.read";
import { listEvents } from "@/lib/events/list/event-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import { readTail } from "@/lib/order/tails/tails.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { editRequestSchema } from "@/lib/repair/revisions/revisions.shapes";
import { openWorld, type World } from "@/lib/testing/redrive-world";

const ada = localViewer("ada");
let world: World;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
  await park(0, 1, 2, 3);
  await world.worker();
});
afterEach(async () => {
  const broken = await world.broken();
  await world.close();
  expect(broken).toEqual([]);
});

/** Versions of one aggregate: `event-0000` has version 0. */
const park = (...versions: number[]) =>
  world.park(versions.length, (index) => ({
    ...{ eventId: `event-000${versions[index]}`, aggregateId: "order-7", aggregateType: "order" },
    version: BigInt(versions[index]!),
  }));

const idOf = async (version: number) => (await world.idsOf([`event-000${version}`]))[0]!;
const skip = async (version: number, viewer = ada) =>
  skipHead(world.deps, { id: await idOf(version), reason: `corrected by ${viewer.name}` }, viewer);
const tail = async () => readTail(world.db, ada, await idOf(3));
const sent = () => world.sink.arrived.map(({ eventId }) => eventId);

/** Requests these versions, and returns how many of them were refused as held. */
async function held(...versions: number[]): Promise<number> {
  const ids = await Promise.all(versions.map(idOf));
  const { id } = await world.request({ select: { ids }, mode: "verify" });
  return (await world.ended(id)).refusedByReason["held-by-head"] ?? 0;
}

/** What each version shows: what it is held behind, in the list and on its own page. */
async function shownHeld(): Promise<Record<number, number | null>> {
  const now = Date.now();
  const { items } = await listEvents(world.db, ada, { filter: {}, limit: 50, cursor: null }, now);
  const shown = Object.fromEntries(items.map(({ version, heldBehind }) => [version, heldBehind?.version ?? null]));
  for (const { id, version } of items) {
    const { heldBehind, aggregate } = await readEventDetail(world.db, ada, id, now);
    expect(heldBehind?.version ?? null).toBe(shown[Number(version)]);
    expect(aggregate.find((member) => member.id === id)?.heldBehind ?? null).toEqual(heldBehind);
  }
  return shown;
}
const countHeld = async (filter = {}) => (await countEvents(world.db, ada, filter, Date.now())).byStatus.HELD;

describe("a held event", () => {
  test("shows in list, page and count what a redrive of it alone is refused for", async () => {
    expect(await shownHeld()).toEqual({ 0: null, 1: 0, 2: 0, 3: 0 });
    expect(await held(3)).toBe(1);
    expect(await countHeld()).toMatchObject({ value: 3, kind: "exact" });
    await skip(0);
    expect(await shownHeld()).toEqual({ 0: null, 1: null, 2: 1, 3: 1 });
    expect(await held(1)).toBe(0);
    // What has another cause is no part of the count, and a status that is not asked for is not counted.
    const scope = { eventId: "event-0003", source: "orders" };
    await imposeControl(world.deps, { kind: "blacklist", scope, reason: "poison" }, ada);
    expect(await countHeld()).toMatchObject({ value: 1, kind: "exact" });
    expect(await countHeld({ status: ["REDRIVEN"] })).toBeUndefined();
    // In another source or type of aggregate nothing is held by it.
    await world.source("billing");
    const other = { eventId: "bill-9", aggregateId: "order-7", aggregateType: "order", version: 9n };
    await world.park(1, () => other, "billing");
    await world.park(1, () => ({ ...other, eventId: "invoice-9", aggregateType: "invoice" }));
    const { items } = await listEvents(world.db, ada, { filter: {}, limit: 2, cursor: null }, Date.now());
    expect(items.map(({ heldBehind }) => heldBehind)).toEqual([null, null]);
    expect(await countHeld()).toMatchObject({ value: 1, kind: "exact" });
  });
});

describe("a skipped head", () => {
  test("holds nothing: the later versions go in their order, and it stays where it is", async () => {
    expect(await held(1, 2, 3)).toBe(3);
    expect(await tail()).toMatchObject({
      head: { eventId: "event-0000", version: 0 },
      why: "it is parked and has not been sent yet",
      held: { count: 3, events: [{ version: 1 }, { version: 2 }, { version: 3 }] },
    });
    const skipped = await skip(0);
    expect(skipped).toMatchObject({ head: { version: 1 }, skipped: [{ eventId: "event-0000", createdBy: "ada" }] });
    const { id } = await world.request({
      select: { ids: await world.idsOf(["event-0003", "event-0001", "event-0002"]) },
    });
    expect(await world.ended(id)).toMatchObject({ delivered: 3, refused: 0 });
    expect(sent()).toEqual(["event-0001", "event-0002", "event-0003"]);
    expect((await world.event("event-0000")).status).toBe("PENDING");
  });

  test("holds again when its skip is undone, when it is sent and comes back, revised, or released", async () => {
    const id = await idOf(0);
    await skip(0);
    await undoSkip(world.deps, { id, reason: "it is needed" }, ada);
    expect(await held(1)).toBe(1);

    await skip(0);
    expect(await world.ended((await world.request({ select: { ids: [id] } })).id)).toMatchObject({ delivered: 1 });
    await park(0);
    expect(await world.event("event-0000")).toMatchObject({ status: "PENDING", bounces: 1 });
    expect(await held(1)).toBe(1);
    expect((await tail()).why).toBe("it is cooling down after a failure");

    await skip(0);
    expect(await held(1)).toBe(0);
    const edit = editRequestSchema.parse({ base: 1, text: '{"amount":7}', reason: "the amount was missing" });
    await editEvent(world.deps, { ...edit, id, headersMax: 100 }, ada);
    expect(await held(1)).toBe(1);
    expect((await tail()).skipped).toEqual([]);

    await ignoreEvents(world.deps, { select: { ids: [id] }, reason: "by hand" }, ada);
    await skip(0);
    await releaseEvents(world.deps, { select: { ids: [id] }, reason: "needed after all", options: {} }, ada);
    expect(await held(1)).toBe(1);
  });

  test("must be the head, parked, and have a version; by two people at once it is skipped once", async () => {
    await expect(skip(2)).rejects.toThrow(
      "version 0 of order-7 (event event-0000) is parked before it: skip that one first",
    );
    await world.park(1, () => ({ eventId: "alone" }));
    const [alone] = await world.idsOf(["alone"]);
    const asked = skipHead(world.deps, { id: alone!, reason: "why not" }, ada);
    await expect(asked).rejects.toThrow("alone has no aggregate: it holds no other event");
    await Promise.all([skip(0), skip(0, localViewer("bob"))]);
    expect(await world.db.query("select 1 from audit_entries where action = 'event.skipped'")).toHaveLength(1);
    expect((await tail()).skipped).toHaveLength(1);
  });
});

test("a head that another redrive works is not skipped, and holds again when its send fails", async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<number>();
  world.sink.answer = () => {
    asked.resolve();
    return answered.promise;
  };
  const { id } = await world.request({ select: { ids: [await idOf(0)] } });
  await asked.promise;
  await expect(skip(0)).rejects.toThrow("event-0000 is QUEUED: only a parked event holds others");
  answered.resolve(422);
  expect(await world.ended(id)).toMatchObject({ failed: 1 });
  expect((await tail()).head).toMatchObject({ eventId: "event-0000", failures: 1 });
  expect((await skip(0)).head).toMatchObject({ version: 1 });
});
