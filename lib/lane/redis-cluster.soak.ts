import { describe, expect, test } from "vitest";
import { clusterLane, connectionTo } from "@/lib/lane/testing/cluster-lane";
import { systemClock } from "@/lib/platform/clock";
import { redisClusterInstalled, testRedisCluster } from "@/lib/testing/redis-cluster";
import { type LaneConnection, QUEUE_NAMES, redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import { createLaneQueue } from "./queue";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";
import { startLaneWorker } from "./worker";

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
    laneConformance(clusterLane);
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

  test("a replica takes over: enqueues and takes go on, and the bucket starts empty", async () => {
    const cluster = await testRedisCluster({ replicas: true });
    const connection = connectionTo(cluster.url);
    const started: unknown[] = [];
    const worker = await workerOf(connection, started);
    const queue = createLaneQueue(connection, systemClock);
    const open = await openTokenBucket(connection, silent);
    await queue.enqueue("main", [slice(1)]);
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
        queue.enqueue("main", [slice(2)]).then(
          () => "enqueued",
          () => "away",
        ),
      )
      .toBe("enqueued");
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
