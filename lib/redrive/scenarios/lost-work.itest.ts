import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEnv } from "@/lib/platform/env";
import { createLog } from "@/lib/platform/log";
import { TEST_PACES, worldOfEachTest } from "@/lib/testing/redrive-world";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";
import { type RunningWorker, startWorker } from "@/workers/worker";

/** Work goes on without a restart, on a busy machine too. */
const GOES_ON_MS = 5 * TEST_PACES.claimLeaseMs;

describe("a redrive goes on", () => {
  const world = worldOfEachTest();

  /** Longest time without an arrival from `fromMs` on, until the last one. */
  function standstillMs(fromMs: number): number {
    const times = [fromMs, ...world.sink.arrived.map((entry) => entry.atMs).filter((atMs) => atMs > fromMs)];
    return Math.max(...times.slice(1).map((atMs, index) => atMs - times[index]!));
  }
  const rate = (perSecond: number) =>
    world.db.run("update targets set rate_per_second = $1, updated_at = now()", [perSecond]);
  const arrived = (count: number) =>
    expect.poll(() => world.sink.arrived.length, { interval: 20 }).toBeGreaterThan(count);

  /** A claim that only ran out would hold its items for longer than the test waits. */
  const stretchClaims = () =>
    world.db.run("update redrive_items set claimed_until = now() + interval '1 hour' where claimed_until is not null");

  test("when its worker is killed and another one starts", async () => {
    await world.park(80, (index) => ({ aggregateId: `order-${index % 40}`, version: BigInt(index) }));
    await rate(60);
    const first = await world.doomedWorker();
    const { id } = await world.request();
    await arrived(20);
    first.kill("SIGKILL");
    await stretchClaims();
    await world.worker();
    const aliveMs = performance.now();
    expect(await world.ended(id)).toMatchObject({ delivered: 80, failed: 0, refused: 0 });
    expect(standstillMs(aliveMs)).toBeLessThan(GOES_ON_MS);
    expect(world.sink.effects()).toHaveLength(80);
  });

  test("when its worker is suspended; resumed, that one sends nothing that others have taken", async () => {
    await world.park(60);
    await rate(50);
    const first = await world.doomedWorker();
    await world.worker();
    const { id } = await world.request();
    await arrived(20);
    first.kill("SIGSTOP");
    await stretchClaims();
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

  describe("when the store", () => {
    let proxy: TcpProxy;
    let worker: RunningWorker;

    beforeEach(async () => {
      const url = new URL(world.url);
      proxy = await startTcpProxy(Number(url.port));
      url.port = String(proxy.port);
      const env = readEnv({ DATABASE_URL: url.href, REDIS_URL: "" });
      const level = process.env.TEST_LOG_LEVEL ?? "silent";
      worker = await startWorker(env, createLog({ level, process: "test" }), { paces: TEST_PACES });
    });
    afterEach(async () => {
      await worker.stop("test over");
      await proxy.stop();
    });

    test.each([{ awayMs: 0 }, { awayMs: 1_500 }])("was restarted, away for $awayMs ms", async ({ awayMs }) => {
      await world.park(150, (index) => ({ aggregateId: `order-${index % 60}`, version: BigInt(index) }));
      await rate(100);
      const { id } = await world.request();
      await arrived(40);
      await proxy.refuse();
      proxy.cut();
      await world.deps.clock.sleep(awayMs);
      await proxy.accept();
      const backMs = performance.now();
      expect(await world.ended(id)).toMatchObject({ delivered: 150, failed: 0, refused: 0 });
      expect(standstillMs(backMs)).toBeLessThan(GOES_ON_MS);
      expect(world.sink.effects()).toHaveLength(150);
    });
  });
});
