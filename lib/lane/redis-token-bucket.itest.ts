import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

const PREFIX = "{bucket-test}";
const keyOf = (key: string) => `${PREFIX}:bucket:${key}`;

describe.skipIf(!redisInstalled)("token bucket on Redis", () => {
  describe("the contract", () => {
    tokenBucketConformance(async () => {
      const server = await testRedis();
      const admin = new Redis(server.url);
      return {
        connect: () => openTokenBucket({ kind: "redis", url: server.url, prefix: PREFIX }, () => {}),
        age: async (key, ms) => {
          await admin.hincrby(keyOf(key), "at", -Math.round(ms * 1000));
        },
        wipe: async () => {
          await admin.flushall();
        },
        close: async () => {
          admin.disconnect();
          await server.stop();
        },
      };
    });
  });

  test("starts empty after a restart from an old snapshot, which would bring spent tokens back", async () => {
    const server = await testRedis();
    const spec = { key: "target", ratePerSecond: 0.01, burst: 6 };
    const before = await openTokenBucket({ kind: "redis", url: server.url, prefix: PREFIX }, () => {});
    const admin = new Redis(server.url);
    admin.on("error", () => {});
    await before.bucket.takeUpTo(spec, 1);
    await admin.hincrby(keyOf("target"), "at", -600_000 * 1000);
    const snapshot = (await admin.dumpBuffer(keyOf("target"))) as Buffer;
    expect((await before.bucket.takeUpTo(spec, 6)).granted).toBe(6);
    await before.close();

    await server.kill();
    await server.restart();
    await expect.poll(() => admin.restore(keyOf("target"), 0, snapshot).catch(() => "away")).toBe("OK");
    const after = await openTokenBucket({ kind: "redis", url: server.url, prefix: PREFIX }, () => {});
    expect((await after.bucket.takeUpTo(spec, 6)).granted).toBe(0);

    await after.close();
    admin.disconnect();
    await server.stop();
  });

  test("takes go on after the server forgot the script", async () => {
    const server = await testRedis();
    const open = await openTokenBucket({ kind: "redis", url: server.url }, () => {});
    const admin = new Redis(server.url);
    await admin.script("FLUSH");
    await expect(open.bucket.take({ key: "target", ratePerSecond: 1, burst: 2 }, 1)).resolves.toMatchObject({
      granted: false,
    });
    await open.close();
    admin.disconnect();
    await server.stop();
  });

  test("takes reject while Redis is away, and work again when it is back", async () => {
    const server = await testRedis();
    const open = await openTokenBucket({ kind: "redis", url: server.url }, () => {});
    const spec = { key: "target", ratePerSecond: 1_000, burst: 2 };
    await server.kill();
    await expect(open.bucket.take(spec, 1)).rejects.toThrow();
    await server.restart();
    await expect
      .poll(() =>
        open.bucket.take(spec, 1).then(
          (answer) => answer.granted,
          () => "away",
        ),
      )
      .toBe(true);
    await open.close();
    await server.stop();
  });
});
