import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { listControls } from "@/lib/order/controls/control-list.read";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { liftControl } from "@/lib/order/controls/lift-controls";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/** An aggregate is its source, its type and its id together: 42 here has nothing to do with 42 there. */
describe("aggregates that share an id", () => {
  let world: World;

  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
    await world.source("billing");
  });
  afterEach(async () => {
    const broken = await world.broken();
    await world.close();
    expect(broken).toEqual([]);
  });

  const sent = () => world.sink.arrived.map((entry) => entry.eventId).sort();
  const live = async () =>
    (await listControls(world.db, localViewer(), { cursor: null, limit: 50, state: "live" })).items;
  const detail = async (eventId: string) =>
    readEventDetail(world.db, localViewer(), (await world.idsOf([eventId]))[0]!, world.deps.clock.wallMs());

  test("order 42 and customer 42 of one source, and order 42 of another: no version of one concerns another", async () => {
    const order = { aggregateType: "order", aggregateId: "42" };
    await world.park(2, (index) => ({ ...order, eventId: `order-${6 + index}`, version: BigInt(6 + index) }));
    await world.park(1, () => ({ eventId: "customer", aggregateType: "customer", aggregateId: "42", version: 3n }));
    await world.park(1, () => ({ ...order, eventId: "there", version: 3n }), "billing");
    await world.worker();
    const both = await world.request({ select: { ids: await world.idsOf(["order-7"]) }, earlier: "include" });
    expect(await world.ended(both.id)).toMatchObject({ total: 2, delivered: 2 });
    await confirmEvents(world.deps, { source: "orders", eventIds: ["order-6", "order-7"] }, localViewer("consumer"));
    for (const eventId of ["customer", "there"]) {
      const { id } = await world.request({ select: { ids: await world.idsOf([eventId]) } });
      expect(await world.ended(id)).toMatchObject({ delivered: 1, refusedByReason: {} });
    }
    expect((await detail("customer")).aggregate.map(({ eventId }) => eventId)).toEqual(["customer"]);
  });

  test("a blacklist that Parkade imposed on 42 of one source holds there only, and DELETE lifts it", async () => {
    const order = { aggregateType: "order", aggregateId: "42" };
    await world.park(1, () => ({ eventId: "fails", ...order, version: 1n }));
    await world.park(1, () => ({ eventId: "there", ...order, version: 1n }), "billing");
    await world.park(1, () => ({ eventId: "customer", aggregateType: "customer", aggregateId: "42", version: 1n }));
    await world.db.run(
      `insert into settings (key, value, updated_by) values ('cooldownMs', '0', 'ada'), ('aggregateFailureLimit', '1', 'ada')`,
    );
    world.sink.answer = () => 422;
    await world.worker();
    const failing = await world.ended((await world.request({ select: { ids: await world.idsOf(["fails"]) } })).id);
    expect(failing).toMatchObject({ failed: 1 });
    world.sink.answer = () => 200;

    const [control, ...others] = await live();
    expect(others).toEqual([]);
    expect(control).toMatchObject({
      kind: "blacklist",
      scope: { source: "orders", ...order },
      origin: "automatic",
      createdBy: "worker",
      catches: 1,
    });
    expect((await detail("fails")).controls).toMatchObject([
      { id: control!.id, source: "orders", origin: "automatic" },
    ]);
    expect((await detail("there")).controls).toEqual([]);
    expect((await detail("customer")).controls).toEqual([]);
    const metrics = await readMetrics(world.db, localViewer(), world.deps.clock.wallMs());
    expect(metrics.find(({ name }) => name === "controls")?.samples).toEqual([
      { labels: { kind: "blacklist", origin: "automatic" }, value: 1 },
    ]);
    const audited = "select count(*) as n from audit_entries where subject_id = $1 and action = $2 and redrive_id = $3";
    expect(await world.db.query(audited, [control!.id, "control.imposed", failing.id])).toEqual([{ n: 1 }]);

    const everything = { select: { filter: {} }, mode: "deliver" as const, lane: "main" as const };
    await world.db.run("update dlq_events set cooldown_until = null, redrives = 0");
    const counted = await previewRedrive(world.deps, everything, localViewer("ada"));
    expect(counted).toMatchObject({ total: 3, eligible: 2, refused: { blacklisted: 1 } });
    expect(await world.ended((await world.request()).id)).toMatchObject({
      delivered: 2,
      refusedByReason: { blacklisted: 1 },
    });

    await liftControl(world.deps, { id: control!.id, reason: "repaired" }, localViewer("ada"));
    expect(await live()).toEqual([]);
    const ended = await listControls(world.db, localViewer(), { cursor: null, limit: 50, state: "ended" });
    expect(ended.items).toMatchObject([{ id: control!.id, scope: control!.scope, liftedBy: "ada" }]);
    await expect(
      liftControl(world.deps, { id: control!.id, reason: "again" }, localViewer("ada")),
    ).rejects.toMatchObject({
      code: "unknown-control",
    });
    const last = await world.request({ select: { ids: await world.idsOf(["fails"]) } });
    expect(await world.ended(last.id)).toMatchObject({ delivered: 1 });
    expect(sent()).toEqual(["customer", "fails", "fails", "there"]);
  });

  test("a control may name a source and a type beside its aggregate, and holds for no other", async () => {
    await world.park(1, () => ({ eventId: "order", aggregateType: "order", aggregateId: "42" }));
    await world.park(1, () => ({ eventId: "customer", aggregateType: "customer", aggregateId: "42" }));
    await world.park(1, () => ({ eventId: "there", aggregateType: "order", aggregateId: "42" }), "billing");
    const scope = { source: "orders", aggregateType: "order", aggregateId: "42" };
    await imposeControl(
      world.deps,
      { kind: "blacklist", scope, reason: "broken", expiresAt: null },
      localViewer("ada"),
    );
    expect(await live()).toMatchObject([{ scope, catches: 1 }]);
    const everything = { select: { filter: {} }, mode: "deliver" as const, lane: "main" as const };
    expect(await previewRedrive(world.deps, everything, localViewer("ada"))).toMatchObject({
      eligible: 2,
      refused: { blacklisted: 1 },
    });
    await world.worker();
    expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 2, refused: 1 });
    expect(sent()).toEqual(["customer", "there"]);
  });
});
