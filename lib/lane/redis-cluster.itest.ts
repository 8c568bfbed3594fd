import { describe, expect, test } from "vitest";
import { connectionTo } from "@/lib/lane/testing/cluster-lane";
import { systemClock } from "@/lib/platform/clock";
import { redisClusterInstalled, testRedisCluster } from "@/lib/testing/redis-cluster";
import { redisPrefix } from "./connection";
import type { QueueName } from "./port";
import { createLaneQueue } from "./queue";
import { openTokenBucket } from "./token-bucket";
import { startLaneWorker } from "./worker";

const silent = () => {};

/** The contracts of the lane and of the token bucket are kept by it, too: `redis-cluster.soak`. */
describe.skipIf(!redisClusterInstalled)("on a Redis Cluster", () => {
  test("what is enqueued runs once; buckets spread over the masters, and each queue has a slot of its own", async () => {
    const cluster = await testRedisCluster();
    const connection = connectionTo(cluster.url);
    const open = await openTokenBucket(connection, silent);
    for (let n = 0; n < 30; n++) {
      await open.bucket.takeUpTo({ key: `target-${n}`, ratePerSecond: 1, burst: 1 }, 1);
    }
    const counts = await cluster.onEachMaster((node) => node.dbsize());
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    await open.close();

    const tags = new Set((["main", "slow", "sets"] satisfies QueueName[]).map((name) => redisPrefix(connection, name)));
    expect(tags.size).toBe(3);

    const started: unknown[] = [];
    const worker = await startLaneWorker({
      ...{ clock: systemClock, connection, lane: "main" as const, concurrency: 2, onError: silent },
      run: async (job) => {
        started.push(job);
        return { kind: "done" };
      },
      log: { info: silent, warn: silent, error: silent },
    });
    const queue = createLaneQueue(connection, systemClock);
    const redriveId = "01a1f89d-e8a2-770a-b22b-52ad71a3843c";
    const slices = [0, 1, 2].map((slice) => ({ kind: "slice" as const, redriveId, slice }));
    await queue.enqueue("main", slices);
    await expect.poll(() => queue.jobs("main", ["waiting", "active"])).toEqual([]);
    expect(started).toHaveLength(3);
    expect(started).toEqual(expect.arrayContaining(slices));
    await worker.stop(0);
    await queue.close();
    await cluster.stop();
  });

  test("is refused when one of its masters may evict the queue", async () => {
    const cluster = await testRedisCluster();
    await cluster.onEachMaster(async (node) => {
      if (node.options.port === cluster.masters[2]!.port) await node.config("SET", "maxmemory-policy", "allkeys-lru");
    });
    const queue = createLaneQueue(connectionTo(cluster.url), systemClock);
    await expect(queue.ping()).rejects.toMatchObject({
      code: "queue-unavailable",
      message: expect.stringMatching(/REDIS_URL.*allkeys-lru.*noeviction/s),
    });
    await queue.close();
    await cluster.stop();
  });

  test("an address of the wrong kind is refused with the right one", async () => {
    const cluster = await testRedisCluster();
    const asServer = createLaneQueue(connectionTo(`redis://127.0.0.1:${cluster.masters[0]!.port}`), systemClock);
    await expect(asServer.ping()).rejects.toMatchObject({
      code: "queue-unavailable",
      message: expect.stringMatching(/node of a Redis Cluster: write redis\+cluster:\/\//),
    });
    await asServer.close();
    await cluster.stop();
  });
});
