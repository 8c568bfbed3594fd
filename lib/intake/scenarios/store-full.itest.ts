import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { measureRoom } from "@/lib/intake/room/measure-room";
import { readConsumers, stateOf } from "@/lib/sources/source-consumers.read";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Two workers that do not see the disk of the store, on a real broker: another process measures it. */

const closing: (() => Promise<unknown>)[] = [];
const world = worldOfEachTest({
  afterwards: async () => {
    for (const close of closing.splice(0).reverse()) await close();
  },
});

const LIMIT = { disk: { folder: "/", freeBytesMin: 1_000 }, storeBytesMax: null };
/** With a mocked probe. */
const diskHas = (freeBytes: number) => measureRoom(world.db, LIMIT, async () => freeBytes);
const soon = { interval: 100 };

describe.skipIf(!redisInstalled)("a source of a broker, while there is no room for events", () => {
  test("is paused and says why; its letters stay in the broker, and each is parked once when there is room", async () => {
    const server = await testRedis();
    closing.push(() => server.stop());
    const redis = new Redis(server.url);
    closing.push(() => redis.quit());
    await redis.xadd("sent", "*", "payload", "{}");
    const sourceId = await world.source("dead");
    const config = { url: server.url, stream: "dead", read: "stream", group: "parkade", minIdleMs: 1_000 };
    await world.db.run("update sources set kind = 'redis-stream', config = $2::jsonb where id = $1", [
      sourceId,
      JSON.stringify({ ...config, redriveTo: { stream: "sent" } }),
    ]);
    const fail = async (from: number, to: number) => {
      for (let n = from; n < to; n++) await redis.xadd("dead", "*", "event-id", `e-${n}`, "payload", "{}");
    };
    const state = async () => stateOf((await readConsumers(world.db, [sourceId])).get(sourceId) ?? []);
    const pending = async () => {
      const [groups] = (await redis.xinfo("GROUPS", "dead")) as [unknown[]];
      return Number(groups[groups.indexOf("pending") + 1]);
    };

    await fail(0, 40);
    await world.worker();
    await world.worker();
    await expect.poll(world.statuses, soon).toEqual({ PENDING: 40 });

    await diskHas(999);
    await expect.poll(state, soon).toMatchObject({
      state: "paused",
      workers: 2,
      lastError: expect.stringMatching(
        /^The disk of the store has 999 B free .* PARKADE_DISK_FREE_MIN keeps: no event/,
      ),
    });
    await fail(40, 90);
    // What is parked goes on: a redrive of it is delivered.
    const { id } = await world.request({ select: { ids: await world.idsOf(["e-3"]) }, mode: "verify" });
    await world.ended(id);
    await diskHas(998);
    expect(await world.statuses()).toEqual({ PENDING: 40 });
    // A third worker that starts now does not read either.
    await world.worker();
    await expect.poll(state, soon).toMatchObject({ state: "paused", workers: 3 });
    expect(await redis.xlen("dead")).toBe(90);

    await diskHas(1_100);
    await expect.poll(world.statuses, soon).toEqual({ PENDING: 90 });
    await expect.poll(pending, soon).toBe(0);
    await expect.poll(state, soon).toMatchObject({ state: "running", lastError: null });
    const [keys] = await world.db.query<{ n: number; bounces: number }>(
      "select (select count(*) from event_keys) as n, (select count(*) from dlq_events where bounces > 0) as bounces",
    );
    expect(keys).toEqual({ n: 90, bounces: 0 });
  });
});
