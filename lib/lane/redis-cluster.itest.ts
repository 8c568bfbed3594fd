import { Queue } from "bullmq";
import { Cluster } from "ioredis";
import { describe, expect, test } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { parseRedisUrl } from "@/lib/platform/plain/redis-address.pure";
import { redisClusterInstalled, testRedisCluster } from "@/lib/testing/redis-cluster";
import { type LaneConnection, QUEUE_NAMES, redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import type { QueueName } from "./port";
import { createLaneQueue } from "./queue";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";
import { startLaneWorker } from "./worker";

const connectionTo = (url: string) => ({ kind: "redis" as const, url, prefix: "{cluster-test}" });
const silent = () => {};

function workerOf(connection: LaneConnection, started: unknown[]) {
  return startLaneWorker({
    clock: systemClock,
    connection,
    lane: "main",
    concurrency: 1,
    run: async (job) => {
      started.push(job);
      return { kind: "done" };
    },
    onError: silent,
    log: { info: silent, warn: silent, error: silent },
  });
}

const slice = (n: number) => ({ kind: "slice" as const, redriveId: "01a1f89d-e8a2-770a-b22b-52ad71a3843c", slice: n });

describe.skipIf(!redisClusterInstalled)("on a Redis Cluster", () => {
  describe("the contract of the lane", () => {
    laneConformance(async () => {
      const cluster = await testRedisCluster();
      const connection = connectionTo(cluster.url);
      return {
        connection,
        stealLocks: async () => {
          await cluster.onEachMaster(async (node) => {
            const locks = await node.keys(`${redisPrefix(connection, "main")}:*:lock`);
            await Promise.all(locks.map((lock) => node.set(lock, "somebody else", "PX", 300)));
          });
        },
        flush: async () => {
          await cluster.onEachMaster((node) => node.flushall());
        },
        addRaw: async (lane, data) => {
          const client = new Cluster(parseRedisUrl(cluster.url)!.nodes, {
            redisOptions: { maxRetriesPerRequest: null },
          });
          const queue = new Queue(QUEUE_NAMES[lane], { connection: client, prefix: redisPrefix(connection, lane) });
          await queue.add("raw", data);
          await queue.close();
          client.disconnect();
        },
        jobsKept: async (lane) => {
          const pattern = `${redisPrefix(connection, lane)}:${QUEUE_NAMES[lane]}:*-*-*-*`;
          return (await cluster.onEachMaster((node) => node.keys(pattern))).flat().length;
        },
        goAway: () => cluster.kill(),
        comeBack: () => cluster.restart(),
        close: () => cluster.stop(),
      };
    });
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

  test("a replica takes over: rings and takes go on, and the bucket starts empty", async () => {
    const cluster = await testRedisCluster({ replicas: true });
    const connection = connectionTo(cluster.url);
    const started: unknown[] = [];
    const worker = await workerOf(connection, started);
    const queue = createLaneQueue(connection, systemClock);
    const open = await openTokenBucket(connection, silent);
    await queue.ring("main", [slice(1)]);
    await expect.poll(() => started).toEqual([slice(1)]);
    const holder = await cluster.masterOf(`${redisPrefix(connection, "main")}:${QUEUE_NAMES.main}`);
    const key = await bucketOn(cluster, connection, holder);
    // So slow that none comes back by time while the replica takes over.
    const spec = { key, ratePerSecond: 0.001, burst: 5 };
    await open.bucket.takeUpTo({ ...spec, ratePerSecond: 1_000 }, 1);
    await expect.poll(async () => open.bucket.level({ ...spec, ratePerSecond: 1_000 })).toBe(5);

    await cluster.masters[holder]!.kill();
    await expect
      .poll(() =>
        queue.ring("main", [slice(2)]).then(
          () => "rung",
          () => "away",
        ),
      )
      .toBe("rung");
    await expect.poll(() => started).toContainEqual(slice(2));
    await expect.poll(() => open.bucket.takeUpTo(spec, 5).catch(() => "away")).toMatchObject({ granted: 0 });

    await worker.stop(0);
    await queue.close();
    await open.close();
    await cluster.stop();
  });

  test("says which part is missing when slots have no master, and the fix", async () => {
    const cluster = await testRedisCluster();
    const others = cluster.masters.slice(1).map(({ port }) => `127.0.0.1:${port}`);
    await cluster.masters[0]!.kill();
    const queue = createLaneQueue(connectionTo(`redis+cluster://${others.join()}`), systemClock);
    await expect
      .poll(() => queue.ping().catch((error: Error) => error.message))
      .toMatch(/Redis at REDIS_URL.* refuses to write, some slots of its cluster have no master.*replica take over/);
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

/** A key whose bucket lies on this master. */
async function bucketOn(
  cluster: { masterOf(key: string): Promise<number> },
  connection: { kind: "redis"; url: string; prefix: string },
  holder: number,
): Promise<string> {
  for (let n = 0; ; n++) {
    const key = `target-${n}`;
    if ((await cluster.masterOf(`${redisPrefix(connection, `bucket:${key}`)}:bucket:${key}`)) === holder) return key;
  }
}
