import { describe, expect, test } from "vitest";
import { LIMIT, stormWorldOfEachTest } from "@/lib/intake/scenarios/testing/storm-world";
import { redisInstalled } from "@/lib/testing/redis";

const { world, openRedis, limited, counted } = stormWorldOfEachTest();
const soon = { interval: 100 };

describe.skipIf(!redisInstalled)("a storm", () => {
  test("of a log is sampled: each letter is stored or counted, acknowledged, and stays in the log", async () => {
    const { redis, url } = await openRedis();
    await redis.xadd("sent", "*", "payload", "{}");
    await limited("redis-stream", {
      url,
      stream: "dead",
      read: "stream",
      group: "parkade",
      redriveTo: { stream: "sent" },
    });
    for (let n = 0; n < 300; n++) await redis.xadd("dead", "*", "event-id", `e-${n}`, "payload", "{}");
    await world.worker();
    await world.worker();
    await expect.poll(async () => (await counted()).stored + (await counted()).unstored, soon).toBe(300);
    const { stored, unstored } = await counted();
    expect(stored).toBeGreaterThanOrEqual(LIMIT);
    expect(unstored).toBeGreaterThan(0);
    const pending = async () => ((await redis.xpending("dead", "parkade")) as [number])[0];
    await expect.poll(pending, soon).toBe(0);
    expect(await redis.xlen("dead")).toBe(300);
  });
});
