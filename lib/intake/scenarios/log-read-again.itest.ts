import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** A whole worker on a real log whose reading begins anew, for consumers that drop the marks of a redrive. */

const closing: (() => Promise<unknown>)[] = [];
const world = worldOfEachTest({
  afterwards: async () => {
    for (const close of closing.splice(0).reverse()) await close();
  },
});

const eventually = <T>(probe: () => Promise<T>) => expect.poll(probe, { interval: 50 });

describe.skipIf(!redisInstalled)("a group of a Redis stream that is gone", () => {
  test("is made anew, and reads its stream from the start: nothing that was redriven comes back", async () => {
    const server = await testRedis();
    closing.push(() => server.stop());
    const redis = new Redis(server.url);
    closing.push(() => redis.quit());
    await redis.xadd("sent", "*", "payload", "{}");
    /** A consumer puts a message that has failed into the log, with the id of the event and nothing of Parkade's. */
    const fail = (eventId: string) => redis.xadd("dead", "*", "event-id", eventId, "payload", "{}");
    /** Messages of the log that are read and acknowledged since the group was made. */
    const acknowledged = async () => {
      const groups = (await redis.xinfo("GROUPS", "dead")) as unknown[][];
      const facts = groups[0] ?? [];
      const fact = (name: string) => Number(facts[facts.indexOf(name) + 1] ?? 0);
      return facts.length === 0 || fact("pending") > 0 ? 0 : fact("entries-read");
    };
    const sourceId = await world.source("dead");
    await world.db.run("update sources set kind = 'redis-stream', config = $2::jsonb where id = $1", [
      sourceId,
      JSON.stringify({
        ...{ url: server.url, stream: "dead", read: "stream", group: "parkade", deliveryLimit: 5, minIdleMs: 60_000 },
        redriveTo: { stream: "sent" },
      }),
    ]);
    const ids = ["event-1", "event-2", "event-3"];
    for (const id of ids) await fail(id);
    await world.worker();
    await eventually(world.statuses).toEqual({ PENDING: 3 });
    const redrive = async () => {
      await world.db.run("update dlq_events set cooldown_until = null");
      const { id } = await world.request({ select: { ids: await world.idsOf(ids) } });
      await world.ended(id);
    };
    await redrive();
    // One of them fails again, and is sent again: its log holds two letters of it.
    await fail("event-1");
    await eventually(world.statuses).toEqual({ PENDING: 1, REDRIVEN: 2 });
    await redrive();
    expect(await world.statuses()).toEqual({ REDRIVEN: 3 });
    // What Parkade had read is forgotten.
    await redis.xgroup("DESTROY", "dead", "parkade");
    await eventually(acknowledged).toBe(4);
    expect(await world.statuses()).toEqual({ REDRIVEN: 3 });
    // It still is one when an event does come back.
    await fail("event-2");
    await eventually(world.statuses).toEqual({ PENDING: 1, REDRIVEN: 2 });
    expect(await world.event("event-2")).toMatchObject({ status: "PENDING", bounces: 1 });
  });
});
