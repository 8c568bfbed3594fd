import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { openWorld, worldOfEachTest } from "@/lib/testing/redrive-world";

const ada = localViewer("ada");
const everything = { target: null, reason: "stock answers with wrong data" };

describe("a stop of sends", () => {
  const world = worldOfEachTest({ ratePerSecond: 60 });

  const owned = () => world.db.query("select slice from slice_owners where owner is not null");
  const sent = () => world.sink.arrived.length;
  const keys = () => new Set(world.sink.arrived.map(({ key }) => key)).size;

  test("holds two workers whose sends wait for tokens, gives their slices back, and the rest goes once after it", async () => {
    await world.park(120);
    await Promise.all([world.worker(), world.worker()]);
    const { id } = await world.request();
    await expect.poll(sent, { interval: 5 }).toBeGreaterThan(20);
    const { underWay } = await imposeStop(world.deps, everything, ada);
    const before = sent();
    expect(underWay).toBe(0);
    // The waits for a token end, too: no slice is kept for the length of the stop.
    await expect.poll(owned).toEqual([]);
    expect(sent()).toBe(before);
    expect((await world.redrive(id)).stalled).toMatchObject({ code: "stopped", target: null });
    // A worker that starts obeys it.
    await world.worker();
    await expect.poll(() => world.db.query("select id from worker_heartbeats")).toHaveLength(3);
    expect(sent()).toBe(before);
    expect(await resumeSends(world.deps, everything, ada)).toBe(true);
    expect(await resumeSends(world.deps, everything, ada)).toBe(false);
    await world.ended(id);
    expect([sent(), keys()]).toEqual([120, 120]);
  });

  test("of everything and one of a target are two: nothing goes until both have ended, and each ends once", async () => {
    const target = { target: "orders", reason: "stock is down" };
    const bob = localViewer("bob");
    await world.park(20);
    await Promise.all([imposeStop(world.deps, everything, ada), imposeStop(world.deps, target, bob)]);
    await imposeStop(world.deps, { ...target, reason: "again" }, ada);
    await world.worker();
    const { id } = await world.request();
    await resumeSends(world.deps, { target: null }, bob);
    await expect
      .poll(async () => (await world.redrive(id)).stalled)
      .toMatchObject({
        ...{ code: "stopped", target: "orders" },
        text: expect.stringContaining("bob stopped the sends to orders: stock is down"),
      });
    expect(sent()).toBe(0);
    const ended = await Promise.all([resumeSends(world.deps, target, ada), resumeSends(world.deps, target, bob)]);
    expect(ended.sort()).toEqual([false, true]);
    await world.ended(id);
    expect(keys()).toBe(20);
    const entries = await world.db.query<{ action: string; reason: string | null }>(
      "select action, reason from audit_entries where action ~ '^(stop|target)[.]' order by action",
    );
    expect(entries.map(({ action }) => action)).toEqual([
      ...["stop.imposed", "stop.lifted", "target.resumed", "target.stopped"],
    ]);
    // A resume needs no reason, and the audit makes none up.
    expect(entries[1]!.reason).toBeNull();
  });
});

describe.skipIf(!redisInstalled)("a stop while Redis is away", () => {
  test("is in force, and so is its end when Redis is back", async () => {
    const redis = await testRedis({ stored: true });
    const world = await openWorld({ redisUrl: redis.url, ratePerSecond: 60 });
    await world.park(90);
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length, { interval: 5 }).toBeGreaterThan(10);
    await redis.kill();
    expect((await imposeStop(world.deps, everything, ada)).underWay).toBe(0);
    const before = world.sink.arrived.length;
    await redis.start();
    await expect.poll(() => world.db.query("select slice from slice_owners where owner is not null")).toEqual([]);
    expect(world.sink.arrived.length).toBe(before);
    await redis.kill();
    expect(await resumeSends(world.deps, everything, ada)).toBe(true);
    await redis.start();
    await world.ended(id);
    expect(new Set(world.sink.arrived.map(({ key }) => key)).size).toBe(90);
    expect(await world.broken()).toEqual([]);
    await world.close();
    await redis.stop();
  });
});
