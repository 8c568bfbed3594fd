import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { QUEUE_NAMES } from "./connection";
import { laneConformance } from "./lane.conformance";
import { createLaneQueue } from "./queue";
import { startLaneWorker } from "./worker";

const PREFIX = "{lane-test}";

describe.skipIf(!redisInstalled)("lane on Redis", () => {
  describe("the contract", () => {
    laneConformance(async () => {
      const server = await testRedis();
      const admin = new Redis(server.url, { retryStrategy: () => 20 });
      admin.on("error", () => {});
      return {
        connection: { kind: "redis", url: server.url, prefix: PREFIX },
        stealLocks: async () => {
          const locks = await admin.keys(`${PREFIX}:*:lock`);
          await Promise.all(locks.map((lock) => admin.set(lock, "somebody else", "PX", 300)));
        },
        flush: async () => {
          await admin.flushall();
        },
        addRaw: async (lane, data) => {
          const queue = new Queue(QUEUE_NAMES[lane], { connection: { url: server.url }, prefix: PREFIX });
          await queue.add("raw", data);
          await queue.close();
        },
        jobsKept: async (lane) => {
          const keys = await admin.keys(`${PREFIX}:${QUEUE_NAMES[lane]}:*-*-*-*`);
          return keys.length;
        },
        goAway: () => server.kill(),
        comeBack: () => server.restart(),
        close: async () => {
          admin.disconnect();
          await server.stop();
        },
      };
    });
  });

  test("a Redis that may evict the queue is refused, with the setting and the fix", async () => {
    const server = await testRedis();
    const admin = new Redis(server.url);
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    const refusal = {
      code: "queue-unavailable",
      message: expect.stringMatching(/REDIS_URL.*allkeys-lru.*noeviction/s),
    };
    const queue = createLaneQueue({ kind: "redis", url: server.url }, systemClock);
    await expect(queue.ping()).rejects.toMatchObject(refusal);
    await expect(queue.enqueue("main", [])).rejects.toMatchObject(refusal);
    const silent = () => {};
    const worker = startLaneWorker({
      clock: systemClock,
      connection: { kind: "redis", url: server.url },
      lane: "main",
      concurrency: 1,
      run: async () => ({ kind: "done" }),
      onError: silent,
      log: { info: silent, warn: silent, error: silent },
    });
    await expect(worker).rejects.toMatchObject(refusal);

    await admin.config("SET", "maxmemory-policy", "noeviction");
    await expect(queue.ping()).resolves.toBeUndefined();
    await queue.close();
    admin.disconnect();
    await server.stop();
  });

  test("a server that is no cluster is refused as one, with the right address", async () => {
    const server = await testRedis();
    const queue = createLaneQueue({ kind: "redis", url: `redis+cluster://127.0.0.1:${server.port}` }, systemClock);
    await expect(queue.ping()).rejects.toMatchObject({
      code: "queue-unavailable",
      message: expect.stringMatching(/not a Redis Cluster: write redis:\/\//),
    });
    await queue.close();
    await server.stop();
  });
});
