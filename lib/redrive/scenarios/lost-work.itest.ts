import { describe, expect, test } from "vitest";
import { goingOn } from "@/lib/redrive/scenarios/testing/lost-work";
import { TEST_PACES, worldOfEachTest } from "@/lib/testing/redrive-world";

/** Work goes on without a restart, on a busy machine too. */
const GOES_ON_MS = 12 * TEST_PACES.lostMs;

describe("a redrive goes on", () => {
  const world = worldOfEachTest();
  const { rate, arrived, standstillMs, storeRestarts } = goingOn(world);

  test("when its worker is suspended; resumed, that one sends nothing that others have taken", async () => {
    await world.park(60);
    await rate(50);
    const first = await world.doomedWorker();
    const { id } = await world.request();
    await arrived(20);
    first.kill("SIGSTOP");
    // Started only now: it owns none of the slices.
    await world.worker();
    const stoppedMs = performance.now();
    expect(await world.ended(id)).toMatchObject({ delivered: 60, failed: 0 });
    expect(standstillMs(stoppedMs)).toBeLessThan(GOES_ON_MS);
    const before = world.sink.arrived.length;
    first.kill("SIGCONT");
    // Its next heartbeat: by then it has found out what it lost.
    await expect
      .poll(
        async () =>
          (await world.db.query("select 1 from worker_heartbeats where seen_at > now() - interval '3 s'")).length,
      )
      .toBe(2);
    expect(world.sink.effects()).toHaveLength(60);
    // Those it was sending when it was stopped.
    expect(world.sink.arrived.length - before).toBeLessThanOrEqual(20);
  });

  test("when a promise fails that nobody handles: the worker stays", async () => {
    await world.park(30);
    await rate(20);
    const preload = `process.on("SIGUSR2", () => { Promise.reject(new Error("lost")); });`;
    const worker = await world.doomedWorker({ preload });
    const { id } = await world.request();
    await arrived(10);
    worker.kill("SIGUSR2");
    expect(await world.ended(id)).toMatchObject({ delivered: 30, failed: 0 });
    expect(worker.exitCode).toBeNull();
    expect(world.sink.effects()).toHaveLength(30);
  });

  test("when the store was restarted", () =>
    storeRestarts({ awayMs: 1_500, perSecond: 100, goesOnMs: GOES_ON_MS, paces: TEST_PACES }));
});
