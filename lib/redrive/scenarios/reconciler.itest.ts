import { expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { BULK_NOW_MAX } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { FREEZE_INLINE_MAX } from "@/lib/redrive/request/request-redrive";
import { describeOnBothQueues, openWorld, worldOfEachTest } from "@/lib/testing/redrive-world";

/** What was enqueued is gone before a worker came: only Postgres knows of it (I8). */
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

test("it is rebuilt for a plan, a bulk operation and a canary that nobody had begun, and not for what was paused or cancelled meanwhile", async () => {
  const world = await openWorld({ redisUrl: null });
  const of = async (source: string, count: number) => {
    await world.source(source);
    await world.park(count, (index) => ({ eventId: `${source}-${index}` }), source);
    return { select: { filter: { source: [source] } } };
  };
  const plan = await world.request({ ...(await of("planned", FREEZE_INLINE_MAX + 1)), mode: "verify" });
  expect(plan.state).toBe("PLANNING");
  const ignored = await of("ignored", BULK_NOW_MAX + 1);
  expect(await ignoreEvents(world.deps, { ...ignored, reason: "known fault" }, localViewer("ada"))).toMatchObject({
    state: "RUNNING",
  });
  const steps = { steps: [1, 10], stopAtFailureRatio: 0.2, window: 50, quietMs: 400 };
  const canary = await world.request({ ...(await of("stepwise", 30)), canary: steps });
  const paused = await world.request(await of("paused", 5));
  const cancelled = await world.request(await of("cancelled", 5));
  await changeRedrive(world.deps, { id: paused.id, change: { action: "pause" } }, localViewer("ada"));
  await changeRedrive(world.deps, { id: cancelled.id, change: { action: "cancel" } }, localViewer("ada"));
  await world.db.run("truncate bullmq.job cascade");
  await world.worker();
  expect(await world.ended(plan.id)).toMatchObject({ passed: FREEZE_INLINE_MAX + 1, refused: 0 });
  expect(await world.ended(canary.id)).toMatchObject({ delivered: 30 });
  await expect.poll(() => world.statuses()).toMatchObject({ IGNORED: BULK_NOW_MAX + 1 });
  expect(world.sink.arrived).toHaveLength(30);
  expect(await world.redrive(paused.id)).toMatchObject({ state: "PAUSED", open: 5 });
  expect(await world.redrive(cancelled.id)).toMatchObject({ state: "CANCELLED", cancelled: 5 });
  const broken = await world.broken();
  await world.close();
  expect(broken).toEqual([]);
});
