import { expect } from "vitest";
import { readEnv } from "@/lib/env";
import { createLog } from "@/lib/platform/log";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import type { World } from "@/lib/testing/redrive-world";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";
import { startWorker } from "@/workers/worker";

/** A worker, or its store, goes away and comes back: the redrive goes on without a person. */
export function goingOn(world: World) {
  const rate = (perSecond: number) =>
    world.db.run("update targets set rate_per_second = $1, updated_at = now()", [perSecond]);
  const arrived = (count: number) =>
    expect.poll(() => world.sink.arrived.length, { interval: 20 }).toBeGreaterThan(count);
  /** Longest time without an arrival from `fromMs` on, until the last one. */
  function standstillMs(fromMs: number): number {
    const times = [fromMs, ...world.sink.arrived.map((entry) => entry.atMs).filter((atMs) => atMs > fromMs)];
    return Math.max(...times.slice(1).map((atMs, index) => atMs - times[index]!));
  }

  type Outage = { awayMs: number; perSecond: number; goesOnMs: number; paces?: Paces; redisUrl?: string | null };

  /** The store is away in mid redrive: nothing is lost, nothing comes twice, and it goes on within `goesOnMs`. */
  async function storeRestarts({ awayMs, perSecond, goesOnMs, paces, redisUrl = null }: Outage): Promise<void> {
    const url = new URL(world.url);
    const proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    const env = readEnv({ DATABASE_URL: url.href, REDIS_URL: redisUrl ?? "" });
    const level = process.env.TEST_LOG_LEVEL ?? "silent";
    const worker = await startWorker(env, createLog({ level, process: "test" }), paces ? { paces } : {});
    try {
      await world.park(150, (index) => ({ aggregateId: `order-${index % 60}`, version: BigInt(index) }));
      await rate(perSecond);
      const { id } = await world.request();
      await arrived(40);
      await proxy.refuse();
      proxy.cut();
      await world.deps.clock.sleep(awayMs);
      await proxy.accept();
      const backMs = performance.now();
      expect(await world.ended(id)).toMatchObject({ delivered: 150, failed: 0, refused: 0 });
      expect(standstillMs(backMs)).toBeLessThan(goesOnMs);
      expect(world.sink.effects()).toHaveLength(150);
    } finally {
      await worker.stop("test over");
      await proxy.stop();
    }
  }

  return { rate, arrived, standstillMs, storeRestarts };
}
