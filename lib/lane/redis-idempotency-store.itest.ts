import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { idempotencyConformance } from "./idempotency.conformance";
import { openIdempotencyStore } from "./idempotency-store";

const PREFIX = "{idempotency-test}";
const nameOf = (key: string) => `${PREFIX}:idempotency:${key}`;
const TIMES = { windowMs: 60_000, leaseMs: 10_000 };

describe.skipIf(!redisInstalled)("idempotency store on Redis", () => {
  describe("the contract", () => {
    idempotencyConformance(async () => {
      const server = await testRedis();
      const admin = new Redis(server.url);
      return {
        connect: async () => {
          const store = openIdempotencyStore<unknown>({ kind: "redis", url: server.url, prefix: PREFIX }, () => {});
          return { store, close: store.close };
        },
        age: async (key, ms) => {
          const by = -Math.round(ms * 1000);
          await admin.hincrby(nameOf(key), "lease", by);
          await admin.hincrby(nameOf(key), "expires", by);
        },
        wipe: async () => {
          await admin.flushall();
        },
        nowMs: async () => {
          const [seconds, micros] = await admin.time();
          return Number(seconds) * 1000 + Number(micros) / 1000;
        },
        slackMs: 30_000,
        close: async () => {
          admin.disconnect();
          await server.stop();
        },
      };
    });
  });

  test("a fence grows over a server clock that was set back", async () => {
    const server = await testRedis();
    const store = openIdempotencyStore<string>({ kind: "redis", url: server.url, prefix: PREFIX }, () => {});
    const admin = new Redis(server.url);
    const claim = (await store.claim("k", TIMES)) as { fence: number };
    const ahead = claim.fence + 3_600_000_000;
    await admin.hset(nameOf("k"), "fence", String(ahead), "lease", "0");
    expect(await store.claim("k", TIMES)).toEqual({ kind: "claimed", fence: ahead + 1 });
    await store.close();
    admin.disconnect();
    await server.stop();
  });

  test("a key is gone from memory soon after its window", async () => {
    const server = await testRedis();
    const store = openIdempotencyStore<string>({ kind: "redis", url: server.url, prefix: PREFIX }, () => {});
    const admin = new Redis(server.url);
    const claim = await store.claim("k", TIMES);
    const ttl = await admin.pttl(nameOf("k"));
    expect(ttl).toBeGreaterThan(TIMES.windowMs - 10_000);
    expect(ttl).toBeLessThanOrEqual(TIMES.windowMs + 1_000);
    if (claim.kind === "claimed") await store.finish("k", claim.fence, "done", { ...TIMES, windowMs: 5 });
    await expect.poll(() => admin.exists(nameOf("k")), { timeout: 5_000 }).toBe(0);
    expect(await store.claim("k", TIMES)).toMatchObject({ kind: "claimed" });
    await store.close();
    admin.disconnect();
    await server.stop();
  });

  test("says that the queue is unavailable while Redis is away, and works again when it is back", async () => {
    const server = await testRedis();
    const store = openIdempotencyStore<string>({ kind: "redis", url: server.url }, () => {});
    await server.kill();
    await expect(store.claim("k", TIMES)).rejects.toMatchObject({ code: "queue-unavailable" });
    await server.restart();
    const again = () =>
      store.claim("k", TIMES).then(
        (claim) => claim.kind,
        () => "away",
      );
    await expect.poll(again, { timeout: 5_000 }).not.toBe("away");
    await store.close();
    await expect(store.claim("k", TIMES)).rejects.toMatchObject({ code: "queue-unavailable" });
    await server.stop();
  });
});
