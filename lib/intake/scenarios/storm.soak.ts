import { describe, expect, test } from "vitest";
import { stormWorldOfEachTest } from "@/lib/intake/scenarios/testing/storm-world";
import { readConsumers, stateOf } from "@/lib/sources/source-consumers.read";
import { redisInstalled } from "@/lib/testing/redis";

const { world, openRedis, limited, counted } = stormWorldOfEachTest();
const soon = { interval: 100 };
/** By the clock of the store: what follows must end within one minute. */
const secondOfMinute = async () =>
  (await world.db.query<{ at: number }>("select extract(second from now())::float8 as at"))[0]!.at;

describe.skipIf(!redisInstalled)("a storm", () => {
  test("of a queue waits there until the next minute: all is stored, and nothing twice", async () => {
    const { redis, url } = await openRedis();
    const sourceId = await limited("sidekiq", { url });
    const bury = async (from: number, to: number) => {
      for (let n = from; n < to; n++) {
        const facts = { class: "Charge", args: [], queue: "orders", error_class: "Timeout", error_message: "late" };
        await redis.zadd("dead", n, JSON.stringify({ ...facts, jid: `job-${n}`, failed_at: 1_795_337_000 }));
      }
    };
    const state = async () => stateOf((await readConsumers(world.db, [sourceId])).get(sourceId) ?? []);
    await bury(0, 30);
    await expect.poll(secondOfMinute, soon).toBeLessThan(35);
    await world.worker();
    await expect.poll(counted, soon).toEqual({ stored: 30, unstored: 0 });
    await expect.poll(state, soon).toMatchObject({
      state: "paused",
      lastError: expect.stringMatching(
        /^More than 5 events of one group came within a minute: the queue keeps the rest/,
      ),
    });
    const minute = async () => Math.floor(Date.parse((await state())!.at) / 60_000);
    const before = await minute();
    await bury(30, 60);
    const reported = (await state())!.at;
    await expect.poll(async () => (await state())!.at, soon).not.toBe(reported);
    expect([await redis.zcard("dead"), await minute()]).toEqual([30, before]);
    await expect.poll(counted, soon).toEqual({ stored: 60, unstored: 0 });
    expect(await redis.zcard("dead")).toBe(0);
    expect(await minute()).toBe(before + 1);
  });
});
