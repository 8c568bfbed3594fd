import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { redisInstalled } from "@/lib/testing/redis";
import { redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import { guardedLane, guardedRedis } from "./testing/redis-users";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

const guarded = guardedRedis();

describe.skipIf(!redisInstalled)("as the user of docs/redis-users.acl", () => {
  describe("the contract of the lane", () => {
    laneConformance(async () => guardedLane(await guarded()), { faults: false });
  });

  describe("the contract of the token bucket", () => {
    tokenBucketConformance(async () => {
      const { server, url, adminUrl } = await guarded();
      const admin = new Redis(adminUrl);
      const keyOf = (key: string) => `${redisPrefix({ kind: "redis", url }, "bucket")}:bucket:${key}`;
      return {
        connect: () => openTokenBucket({ kind: "redis", url }, () => {}),
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

  test("nothing else of the server can be read, changed or stopped, and without a password it answers PING alone", async () => {
    const { server, url, adminUrl } = await guarded();
    const admin = new Redis(adminUrl);
    await admin.set("of-another", "kept");
    const user = new Redis(url);
    for (const command of [
      ["get", "of-another"],
      ["set", "of-another", "x"],
      ["del", "of-another"],
      ["eval", "return redis.call('get', KEYS[1])", "1", "of-another"],
      ["publish", "of-another", "x"],
      ["keys", "*"],
      ["flushall"],
      ["config", "get", "*"],
      ["config", "set", "dir", "/tmp"],
      ["acl", "list"],
      ["shutdown", "nosave"],
      ["replicaof", "127.0.0.1", "1"],
      ["monitor"],
      ["client", "kill", "id", "1"],
      ["save"],
    ] as const)
      await expect(user.call(...(command as unknown as [string, ...string[]])), command.join(" ")).rejects.toThrow(
        /NOPERM|can't access|No permissions/i,
      );
    expect(await user.ping()).toBe("PONG");
    const nobody = new Redis(server.url);
    expect(await nobody.ping()).toBe("PONG");
    await expect(nobody.get("of-another")).rejects.toThrow(/NOPERM/);
    await expect(nobody.info()).rejects.toThrow(/NOPERM/);
    expect(await admin.get("of-another")).toBe("kept");
    for (const client of [admin, user, nobody]) client.disconnect();
    await server.stop();
  });
});
