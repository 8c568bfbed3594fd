import { afterEach, describe, expect, test } from "vitest";
import { readEnv } from "@/lib/env";
import { createLog } from "@/lib/platform/log";
import { PACES } from "@/lib/platform/plain/paces.pure";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";
import { type RunningWorker, startWorker } from "@/workers/worker";

/** New connections pass, so the store counts as well from the moment when the old ones fall silent. */
const BACK_MS_MAX = 10 * PACES.lostMs;

describe.each([
  { backend: "redis" as const, skip: !redisInstalled },
  { backend: "postgres" as const, skip: false },
])("a store whose connections fall silent, with the queue on $backend", ({ backend, skip }) => {
  let redis: TestRedis | null = null;
  let world: World;
  let proxy: TcpProxy;
  let worker: RunningWorker;
  afterEach(async () => {
    const broken = await world.broken();
    await worker.stop("test over");
    await proxy.stop();
    await world.close();
    await redis?.stop();
    expect(broken).toEqual([]);
  });

  test.skipIf(skip)(
    "delays a redrive whose finish it swallows no longer than until its slices are given up",
    async () => {
      redis = backend === "redis" ? await testRedis() : null;
      world = await openWorld({ redisUrl: redis?.url ?? null });
      const url = new URL(world.url);
      proxy = await startTcpProxy(Number(url.port));
      url.port = String(proxy.port);
      const level = process.env.TEST_LOG_LEVEL ?? "silent";
      const env = readEnv({ DATABASE_URL: url.href, REDIS_URL: redis?.url ?? "" });
      await world.park(30);
      let silentSinceMs = 0;
      world.sink.answer = () => {
        if (silentSinceMs === 0 && world.sink.arrived.length === 12) {
          silentSinceMs = performance.now();
          proxy.halfOpen();
        }
        return 200;
      };
      worker = await startWorker(env, createLog({ level, process: "test" }));
      const done = await world.ended((await world.request()).id);
      const tookMs = performance.now() - silentSinceMs;
      expect(done).toMatchObject({ delivered: 30, failed: 0, open: 0 });
      expect(world.sink.effects()).toHaveLength(30);
      expect(silentSinceMs).toBeGreaterThan(0);
      expect(tookMs).toBeLessThan(BACK_MS_MAX);
    },
  );
});

test("a worker whose store is gone still stops, and leaves no connection open", async () => {
  const world = await openWorld({ redisUrl: null });
  const url = new URL(world.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const worker = await startWorker(
    readEnv({ DATABASE_URL: url.href }),
    createLog({ level: "silent", process: "test" }),
  );
  await proxy.refuse();
  proxy.halfOpen();
  await worker.stop("the store is gone");
  await proxy.stop();
  // Fails when a connection to its database is left.
  await world.close();
});
