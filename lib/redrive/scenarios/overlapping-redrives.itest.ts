import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { openWorld, TEST_PACES, worldOfEachTest } from "@/lib/testing/redrive-world";

const AGGREGATES = 30;

/** Two redrives of the same aggregates: one of each first version, one of each second. */
describe("a redrive that waits for another one", () => {
  const world = worldOfEachTest();

  const change = (id: string, action: "pause" | "resume" | "cancel") =>
    changeRedrive(world.deps, { id, change: { action } }, localViewer("ada"));

  /** The first one is paused with all of its items open; the second one waits for it, and no job of it is queued. */
  async function overlap(): Promise<{ first: string; second: string }> {
    await world.park(2 * AGGREGATES, (index) => ({
      eventId: `order-${index % AGGREGATES} v${1 + Math.floor(index / AGGREGATES)}`,
      aggregateId: `order-${index % AGGREGATES}`,
      version: BigInt(1 + Math.floor(index / AGGREGATES)),
      errorCode: index < AGGREGATES / 2 ? "OBSOLETE" : "TIMEOUT",
    }));
    const idsOf = (version: number) =>
      world.idsOf(Array.from({ length: AGGREGATES }, (_, index) => `order-${index} v${version}`));
    const first = (await world.request({ select: { ids: await idsOf(1) } })).id;
    await change(first, "pause");
    const second = (await world.request({ select: { ids: await idsOf(2) } })).id;
    await world.worker();
    // A worker that has just started enqueues everything once: an earlier one may have been lost.
    await expect.poll(heartbeatsForMs).toBeGreaterThan(2 * TEST_PACES.heartbeatMs);
    await expect.poll(() => waiting(second)).toBe(AGGREGATES);
    await expect.poll(() => world.lane.jobs("main")).toEqual([]);
    return { first, second };
  }

  const waiting = async (redriveId: string): Promise<number> =>
    (await world.db.query("select id from open_items where redrive_id = $1 and not_before = 'infinity'", [redriveId]))
      .length;

  const heartbeatsForMs = async (): Promise<number> => {
    const age = "select extract(epoch from max(seen_at - started_at))::float8 * 1000 as ms from worker_heartbeats";
    return (await world.db.query<{ ms: number | null }>(age))[0]!.ms ?? 0;
  };

  test("is enqueued when items of that one are closed, and sends nothing before", async () => {
    const { first, second } = await overlap();
    expect(world.sink.arrived).toEqual([]);
    await change(first, "resume");
    expect(await world.ended(second)).toMatchObject({ delivered: AGGREGATES, failed: 0, refused: 0 });
    expect(await world.redrive(first)).toMatchObject({ delivered: AGGREGATES });
    for (let index = 0; index < AGGREGATES; index++) {
      const sent = world.sink.arrived.filter(({ eventId }) => eventId.startsWith(`order-${index} `));
      expect(sent.map(({ eventId }) => eventId)).toEqual([`order-${index} v1`, `order-${index} v2`]);
    }
  });

  test("goes on when items of that one are ignored, by a worker too, and when it is cancelled", async () => {
    const { first, second } = await overlap();
    const refused = (count: number) => expect.poll(async () => (await world.redrive(second)).refused).toBe(count);
    // Behind a head that is ignored or parked an event is refused, which ends its wait as well.
    const request = { select: { ids: await world.idsOf(["order-0 v1"]) }, reason: "obsolete" };
    await ignoreEvents(world.deps, request, localViewer("ada"));
    await refused(1);
    await world.park(2_001, (index) => ({ eventId: `other-${index}`, errorCode: "OBSOLETE" }));
    const many = { select: { filter: { errorCode: ["OBSOLETE"] } }, reason: "obsolete" };
    expect(await ignoreEvents(world.deps, many, localViewer("ada"))).toMatchObject({ state: "RUNNING" });
    await refused(AGGREGATES / 2);
    await change(first, "cancel");
    expect(await world.ended(second)).toMatchObject({ state: "DONE", refused: AGGREGATES });
  });
});

describe("a redrive that is resumed", () => {
  test("is not enqueued for the slices whose jobs wait in the queue since before its pause", async () => {
    const world = await openWorld({ redisUrl: null });
    await world.park(300);
    const { id } = await world.request({ holdMs: 60_000 });
    const queued = async () => (await world.db.query("select id from bullmq.job")).length;
    const enqueued = await queued();
    expect(enqueued).toBeGreaterThan(1);
    for (const action of ["pause", "resume", "pause", "resume"] as const) {
      await changeRedrive(world.deps, { id, change: { action } }, localViewer("ada"));
    }
    expect(await queued()).toBe(enqueued);
    await world.close();
  });
});
