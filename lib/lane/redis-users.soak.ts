import { Redis } from "ioredis";
import { describe } from "vitest";
import { guardedLane, guardedRedis } from "@/lib/lane/testing/redis-users";
import { redisInstalled } from "@/lib/testing/redis";
import { redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

const guarded = guardedRedis();

describe.skipIf(!redisInstalled)("as the user of docs/redis-users.acl", () => {
  describe("the contract of the lane", () => {
    laneConformance(async () => guardedLane(await guarded()));
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
});
