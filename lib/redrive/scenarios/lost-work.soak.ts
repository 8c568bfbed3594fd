import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEnv } from "@/lib/platform/env";
import { createLog } from "@/lib/platform/log";
import { PACES } from "@/lib/platform/plain/paces.pure";
import { describeOnBothQueues, UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";
import { type RunningWorker, startWorker } from "@/workers/worker";

/** With the intervals of production: at the latest after the claims of a lost worker have expired. */
const GOES_ON_MS = 2 * PACES.claimLeaseMs;

describeOnBothQueues("a redrive on $backend goes on", ({ redisUrl }) => {
  const world = worldOfEachTest({ redisUrl, paces: PACES });

  /** Longest time without an arrival from `fromMs` on, until the last one. */
  function standstillMs(fromMs: number): number {
    const times = [fromMs, ...world.sink.arrived.map((entry) => entry.atMs).filter((atMs) => atMs > fromMs)];
    return Math.max(...times.slice(1).map((atMs, index) => atMs - times[index]!));
  }
  const rate = (perSecond: number) =>
    world.db.run("update targets set rate_per_second = $1, updated_at = now()", [perSecond]);
  const arrived = (count: number) =>
    expect.poll(() => world.sink.arrived.length, { interval: 20 }).toBeGreaterThan(count);

  describe("when the store", () => {
    let proxy: TcpProxy;
    let worker: RunningWorker;

    beforeEach(async () => {
      const url = new URL(world.url);
      proxy = await startTcpProxy(Number(url.port));
      url.port = String(proxy.port);
      const env = readEnv({ DATABASE_URL: url.href, REDIS_URL: redisUrl() ?? "" });
      const level = process.env.TEST_LOG_LEVEL ?? "silent";
      worker = await startWorker(env, createLog({ level, process: "test" }));
    });
    afterEach(async () => {
      await worker.stop("test over");
      await proxy.stop();
    });

    test.each([{ awayMs: 3_000 }, { awayMs: 12_000 }])("was restarted, away for $awayMs ms", async ({ awayMs }) => {
      await world.park(150, (index) => ({ aggregateId: `order-${index % 60}`, version: BigInt(index) }));
      await rate(50);
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

  test("with two workers whose wall clocks are two hours apart: nothing twice, nothing too early", async () => {
    await world.policy({ ...UNGUARDED, attemptTimeoutMs: 60_000, deadlineMs: 600_000 });
    await world.park(30);
    world.sink.answer = async ({ eventId, nth }) => {
      const index = Number(eventId.slice(6));
      if (index < 5 && nth === 1) return { status: 503, headers: { "retry-after": "24" } };
      // Under way when the other worker takes the slice for abandoned.
      if (index >= 5 && index < 10) await world.deps.clock.sleep(20_000);
      return 200;
    };
    await world.doomedWorker();
    const { id } = await world.request();
    await arrived(9);
    await world.doomedWorker({ wallAheadMs: 2 * 3_600_000 });
    expect(await world.ended(id)).toMatchObject({ delivered: 30, failed: 0, refused: 0 });
    for (let index = 0; index < 30; index++) {
      const times = world.sink.of(`event-${String(index).padStart(4, "0")}`).map((entry) => entry.atMs);
      expect(times).toHaveLength(index < 5 ? 2 : 1);
      if (index < 5) expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(24_000);
    }
  });
});
