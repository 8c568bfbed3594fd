import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { readConsumers, stateOf } from "@/lib/sources/source-consumers.read";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Storms on a real broker: of a log a sample is stored, a queue is read no faster. */

const LIMIT = 5;
const closing: (() => Promise<unknown>)[] = [];
const world = worldOfEachTest({
  afterwards: async () => {
    for (const close of closing.splice(0).reverse()) await close();
  },
});
const soon = { interval: 100 };

async function openRedis(): Promise<{ redis: Redis; url: string }> {
  const server = await testRedis();
  closing.push(() => server.stop());
  const redis = new Redis(server.url);
  closing.push(() => redis.quit());
  return { redis, url: server.url };
}

async function limited(kind: string, config: object): Promise<string> {
  const id = await world.source("dead");
  const change = "update sources set kind = $2, config = $3::jsonb, storm_per_minute = $4 where id = $1";
  await world.db.run(change, [id, kind, JSON.stringify(config), LIMIT]);
  return id;
}

const counted = async () => {
  const [row] = await world.db.query<{ stored: number; unstored: number }>(
    `select (select count(*) from dlq_events) as stored,
            ((select coalesce(sum(n), 0) from dlq_flow where kind = 'unstored')
              + (select coalesce(sum(unstored), 0) from dlq_group_flow_minutes))::bigint as unstored`,
  );
  return row!;
};
/** By the clock of the store: what follows must end within one minute. */
const secondOfMinute = async () =>
  (await world.db.query<{ at: number }>("select extract(second from now())::float8 as at"))[0]!.at;

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
