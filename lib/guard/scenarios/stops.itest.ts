import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { type World, worldOfEachTest } from "@/lib/testing/redrive-world";

type Stop = { name: string; stop: (world: World, redriveId: string) => Promise<{ underWay: number | null }> };
const STOPS: Stop[] = [
  ...(["pause", "cancel"] as const).map((action) => ({
    name: action,
    stop: (world: World, id: string) => changeRedrive(world.deps, { id, change: { action } }, localViewer("ada")),
  })),
  {
    name: "blacklist",
    stop: (world) => {
      const control = { kind: "blacklist", scope: { source: "orders" }, reason: "broken", expiresAt: null } as const;
      return imposeControl(world.deps, control, localViewer("ada"));
    },
  },
  {
    name: "ignore",
    stop: (world) => ignoreEvents(world.deps, { select: { filter: {} }, reason: "not wanted" }, localViewer("ada")),
  },
];

describe("a redrive under way by two workers", () => {
  const world = worldOfEachTest();

  test.each(STOPS)("sends nothing after the answer to $name but what the answer counts", async ({ stop }) => {
    await world.park(600);
    world.sink.answer = async () => {
      await pause(20);
      return 200;
    };
    await Promise.all([world.worker(), world.worker()]);
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length, { interval: 5 }).toBeGreaterThan(40);
    const { underWay } = await stop(world, id);
    const answeredAtMs = performance.now();
    const held = () => world.db.query("select slice from slice_owners where owner is not null");
    await expect.poll(held).toEqual([]);
    expect(world.sink.arrived.length).toBeLessThan(600);
    const after = world.sink.arrived.filter((entry) => entry.atMs > answeredAtMs);
    expect(underWay).not.toBeNull();
    expect(after.length).toBeLessThanOrEqual(underWay!);
  });
});
