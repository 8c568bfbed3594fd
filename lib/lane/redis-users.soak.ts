import { describe } from "vitest";
import { redisInstalled } from "@/lib/testing/redis";
import { laneConformance } from "./lane.conformance";
import { guardedLane, guardedRedis } from "./testing/redis-users";

const guarded = guardedRedis();

describe.skipIf(!redisInstalled)("as the user of docs/redis-users.acl", () => {
  describe("the contract of the lane", () => {
    laneConformance(async () => guardedLane(await guarded()));
  });
});
