import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const ada = localViewer("ada");
let now = 0;
let most = 0;

const world = worldOfEachTest();

beforeEach(async () => {
  now = 0;
  most = 0;
  world.sink.answer = async () => {
    most = Math.max(most, ++now);
    await pause(20);
    now--;
    return 200;
  };
});

test("no more sends at once than the redrive asks for, and as many as its target takes when it asks for none", async () => {
  await world.park(120);
  const { id } = await world.request();
  await changeRedrive(world.deps, { id, change: { concurrency: 2 } }, ada);
  expect(await world.redrive(id)).toMatchObject({ concurrency: 2, places: 20 });
  await world.worker();
  await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(20);
  expect(most).toBe(2);
  await changeRedrive(world.deps, { id, change: { concurrency: null } }, ada);
  await expect.poll(() => most, { interval: 10 }).toBeGreaterThan(2);
  expect(await world.ended(id)).toMatchObject({ delivered: 120 });
  expect(most).toBeLessThanOrEqual(20);
});

test("fewer sends at once hold within a watch, though every item that waits for a token could have been sent", async () => {
  await world.db.run("update targets set rate_per_second = 20");
  let slow = 0;
  world.sink.answer = async () => {
    most = Math.max(most, ++now);
    await pause(slow);
    now--;
    return 200;
  };
  slow = 400;
  await world.park(150);
  await world.worker();
  const { id } = await world.request();
  await expect.poll(() => most).toBeGreaterThan(3);
  await changeRedrive(world.deps, { id, change: { concurrency: 1 } }, ada);
  await expect.poll(() => now, { interval: 5 }).toBe(1);
  most = 0;
  const before = world.sink.arrived.length;
  await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(before + 4);
  expect(most).toBe(1);
  expect((await world.redrive(id)).open).toBeGreaterThan(20);
  slow = 1;
  await world.db.run("update targets set rate_per_second = null, updated_at = now()");
  await changeRedrive(world.deps, { id, change: { concurrency: null } }, ada);
  expect(await world.ended(id)).toMatchObject({ delivered: 150 });
  expect(world.sink.arrived).toHaveLength(150);
});

test("a pace above what the target takes is refused, with the cause and the fix, also while no selected event may go", async () => {
  await world.db.run("update targets set rate_per_second = 40 where name = 'orders'");
  await world.park(3);
  const tooFast = {
    code: "above-ceiling",
    message: "ratePerSecond: orders takes at most 40/s: choose 40 or less, or raise the rate under Targets",
  };
  const { id } = await world.request();
  const change = (asked: { ratePerSecond: number | null } | { concurrency: number | null }) =>
    changeRedrive(world.deps, { id, change: asked }, ada);
  await expect(change({ ratePerSecond: 41 })).rejects.toMatchObject(tooFast);
  await expect(change({ concurrency: 21 })).rejects.toMatchObject({
    message:
      "concurrency: orders takes at most 20 sends at once: choose 20 or less, or raise the bulkhead under Targets",
  });
  await change({ ratePerSecond: 40 });
  await change({ concurrency: 20 });
  expect(await world.redrive(id)).toMatchObject({
    ratePerSecond: 40,
    concurrency: 20,
    laneRates: { main: 40, slow: null },
  });

  await world.park(1, () => ({ eventId: "refused" }));
  const control = { kind: "blacklist", scope: { source: "orders" }, reason: "a test" } as const;
  await imposeControl(world.deps, control, ada);
  const select = { ids: await world.idsOf(["refused"]) };
  await expect(world.request({ select, ratePerSecond: 41 })).rejects.toMatchObject(tooFast);
  expect(await world.db.query("select id from redrives")).toHaveLength(1);
  expect(await world.request({ select, ratePerSecond: 40 })).toMatchObject({ refusedByReason: { blacklisted: 1 } });
});
