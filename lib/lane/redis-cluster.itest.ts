import { describe, expect, test } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { redisClusterInstalled, testRedisCluster } from "@/lib/testing/redis-cluster";
import { redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import type { QueueName } from "./port";
import { createLaneQueue } from "./queue";
import { clusterLane, connectionTo } from "./testing/cluster-lane";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

const silent = () => {};

describe.skipIf(!redisClusterInstalled)("on a Redis Cluster", () => {
  describe("the contract of the lane", () => {
    laneConformance(clusterLane, { faults: false });
  });

  describe("the contract of the token bucket", () => {
    tokenBucketConformance(async () => {
      const cluster = await testRedisCluster();
      const connection = connectionTo(cluster.url);
      return {
        connect: () => openTokenBucket(connection, silent),
        age: async (key, ms) => {
          const bucket = `${redisPrefix(connection, `bucket:${key}`)}:bucket:${key}`;
          const holder = await cluster.masterOf(bucket);
          await cluster.onEachMaster(async (node) => {
            if (node.options.port === cluster.masters[holder]!.port)
              await node.hincrby(bucket, "at", -Math.round(ms * 1000));
          });
        },
        wipe: async () => {
          await cluster.onEachMaster((node) => node.flushall());
        },
        close: () => cluster.stop(),
      };
    });
  });

  test("buckets spread over the masters, and each queue has a slot of its own", async () => {
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
