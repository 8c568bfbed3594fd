import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/** What people decide between the request of a redrive and its run (I11). */
describe("after a redrive froze its events, and before a worker has them,", () => {
  let world: World;

  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
    await world.park(4, (index) => ({
      aggregateId: `order-${index}`,
      errorCode: index < 2 ? "TIMEOUT" : "UPSTREAM_5XX",
    }));
  });
  afterEach(async () => {
    const broken = await world.broken();
    await world.close();
    expect(broken).toEqual([]);
  });

  const sent = () => world.sink.arrived.map((entry) => entry.eventId).sort();

  test("a cooldown and a blacklist refuse what they cover, each by its name", async () => {
    const { id } = await world.request();
    const expiresAt = new Date(world.deps.clock.wallMs() + 3_600_000).toISOString();
    const terms = { reason: "stock is down", expiresAt };
    await imposeControl(
      world.deps,
      { kind: "cooldown", scope: { errorCode: "TIMEOUT" }, ...terms },
      localViewer("ada"),
    );
    await imposeControl(
      world.deps,
      { kind: "blacklist", scope: { aggregateId: "order-2" }, ...terms },
      localViewer("ada"),
    );
    await world.worker();
    const refusedByReason = { cooling: 2, blacklisted: 1 };
    expect(await world.ended(id)).toMatchObject({ delivered: 1, refused: 3, refusedByReason });
    expect(sent()).toEqual(["event-0003"]);
    expect(await world.statuses()).toEqual({ PENDING: 3, REDRIVEN: 1 });
  });

  test("a whitelist lets through what Parkade blacklisted, never what a person did", async () => {
    const { id } = await world.request();
    for (const [aggregateId, origin] of [
      ["order-0", "automatic"],
      ["order-1", "person"],
    ] as const) {
      const scope = { aggregateId };
      await imposeControl(
        world.deps,
        { kind: "blacklist", scope, reason: "failed too often", expiresAt: null },
        localViewer("ada"),
      );
      await imposeControl(
        world.deps,
        { kind: "whitelist", scope, reason: "was repaired", expiresAt: null },
        localViewer("ada"),
      );
      await world.db.run("update controls set origin = $2 where kind = 'blacklist' and value = $1", [
        aggregateId,
        origin,
      ]);
    }
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 3, refusedByReason: { blacklisted: 1 } });
    expect(sent()).toEqual(["event-0000", "event-0002", "event-0003"]);
  });

  test("ignoring takes events out of it", async () => {
    const { id } = await world.request();
    const ids = await world.idsOf(["event-0000", "event-0003"]);
    expect(await ignoreEvents(world.deps, { select: { ids }, reason: "not wanted" }, localViewer("ada"))).toMatchObject(
      {
        changed: 2,
        refused: {},
        underWay: 0,
      },
    );
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 2, refusedByReason: { ignored: 2 } });
    expect(sent()).toEqual(["event-0001", "event-0002"]);
    expect(await world.statuses()).toEqual({ IGNORED: 2, REDRIVEN: 2 });
  });

  test("cancelling sends nothing, and names the person who cancelled, not the one who asked", async () => {
    const { id } = await world.request();
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("bob"));
    expect(await world.db.query("select actor, count from audit_entries where action = 'event.withdrawn'")).toEqual([
      { actor: "bob", count: 4 },
    ]);
    expect(await world.db.query("select distinct last_operator from dlq_events")).toEqual([{ last_operator: "bob" }]);
    await world.worker();
    const witness = await world.request({ select: { ids: await world.idsOf(["event-0002"]) } });
    await world.ended(witness.id);
    expect(sent()).toEqual(["event-0002"]);
    expect(await world.redrive(id)).toMatchObject({ state: "CANCELLED", cancelled: 4, delivered: 0 });
  });
});
