import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { BULK_NOW_MAX } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { FREEZE_INLINE_MAX } from "@/lib/redrive/request/request-redrive";
import { describeOnBothQueues, worldOfEachTest } from "@/lib/testing/redrive-world";

/** What was rung is gone before a worker came: only Postgres knows of it (I8). */
describeOnBothQueues("a queue on $backend that forgot everything is rebuilt", ({ redis, redisUrl }) => {
  const world = worldOfEachTest({ redisUrl });

  async function forget(): Promise<void> {
    const server = redis();
    if (server) await server.restart();
    else await world.db.run("truncate bullmq.job cascade");
    await expect.poll(async () => [await world.lane.jobs("main"), await world.lane.jobs("slow")]).toEqual([[], []]);
  }

  test("from the open items of a running redrive", async () => {
    await world.park(150, (index) => ({ aggregateId: `order-${index % 20}`, version: BigInt(index) }));
    const { id } = await world.request();
    expect((await world.lane.jobs("main"))?.length).toBeGreaterThan(1);
    await forget();
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 150, failed: 0, refused: 0 });
    expect(world.sink.arrived).toHaveLength(150);
  });
});

describe("a queue that forgot everything is rebuilt", () => {
  const world = worldOfEachTest();

  const forget = () => world.db.run("truncate bullmq.job cascade");

  test("for a plan that nobody had begun", async () => {
    await world.park(FREEZE_INLINE_MAX + 1);
    const { id, state } = await world.request({ mode: "verify" });
    expect(state).toBe("PLANNING");
    await forget();
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ passed: FREEZE_INLINE_MAX + 1, refused: 0 });
  });

  test("for a bulk operation that nobody had begun", async () => {
    await world.park(BULK_NOW_MAX + 1);
    const request = { select: { filter: {} }, reason: "known fault" };
    expect(await ignoreEvents(world.deps, request, localViewer("ada"))).toMatchObject({ state: "RUNNING" });
    await forget();
    await world.worker();
    await expect.poll(() => world.statuses()).toEqual({ IGNORED: BULK_NOW_MAX + 1 });
  });

  test("for a canary", async () => {
    await world.park(30);
    const { id } = await world.request({
      canary: { steps: [1, 10], stopAtFailureRatio: 0.2, window: 50, quietMs: 400 },
    });
    await forget();
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 30 });
    expect(world.sink.arrived).toHaveLength(30);
  });

  test("and not for what was paused or cancelled meanwhile", async () => {
    await world.park(10);
    const half = async (from: number) => {
      const ids = (await world.idsOf()).slice(from, from + 5);
      return (await world.request({ select: { ids } })).id;
    };
    const [paused, cancelled] = [await half(0), await half(5)];
    await changeRedrive(world.deps, { id: paused, change: { action: "pause" } }, localViewer("ada"));
    await changeRedrive(world.deps, { id: cancelled, change: { action: "cancel" } }, localViewer("ada"));
    await forget();
    await world.worker();
    await world.park(1, () => ({ eventId: "witness" }));
    const witness = await world.request({ select: { ids: await world.idsOf(["witness"]) } });
    await world.ended(witness.id);
    expect(world.sink.arrived.map((entry) => entry.eventId)).toEqual(["witness"]);
    expect(await world.redrive(paused)).toMatchObject({ state: "PAUSED", open: 5 });
    expect(await world.redrive(cancelled)).toMatchObject({ state: "CANCELLED", cancelled: 5 });
  });
});
