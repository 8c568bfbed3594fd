import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { readOrderFacts } from "@/lib/redrive/gate/dry-run-facts.read";
import { listRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { planRedrive } from "@/lib/redrive/plan/plan-redrive";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { deliveredEarlier } from "@/lib/testing/letters";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { takeItems } from "@/lib/testing/slice-items";

/** The order of an aggregate is a gate: nothing is sent while an earlier version is parked, until a person says otherwise. */
describe("the order of an aggregate", () => {
  let world: World;

  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
    await setting("cooldownMs", 0);
    await setting("aggregateFailureLimit", 100);
  });
  afterEach(async () => {
    const broken = await world.broken();
    await world.close();
    expect(broken).toEqual([]);
  });

  const setting = (key: string, value: number) =>
    world.db.run("insert into settings (key, value, updated_by) values ($1, to_jsonb($2::float8), 'ada')", [
      key,
      value,
    ]);
  /** `v1` to `v<count>` of one order. */
  const park = (count: number, change = {}) =>
    world.park(count, (index) => ({
      eventId: `v${index + 1}`,
      aggregateId: "1320",
      version: BigInt(index + 1),
      ...change,
    }));
  const only = async (...eventIds: string[]) => ({ select: { ids: await world.idsOf(eventIds) } });
  const sent = () => world.sink.arrived.map((entry) => entry.eventId);
  const refusals = async (redriveId: string) => {
    const query = { redriveId, cursor: null, limit: 50, state: "refused", outcome: null, result: null };
    const { items } = await listRedriveItems(world.db, localViewer(), query);
    return Object.fromEntries(items.map((item) => [item.eventId, `${item.result}: ${item.detail}`]));
  };

  test("holds version 7 alone while 1 to 6 are parked, and names the head", async () => {
    await park(7);
    const answer = await world.request(await only("v7"));
    expect(answer).toMatchObject({ state: "DONE", total: 1, refused: 1, refusedByReason: { "held-by-head": 1 } });
    expect(await refusals(answer.id)).toEqual({
      v7: "held-by-head: versions 1, 2, 3, 4 and more of 1320 are parked before it",
    });
    expect(await world.redrive(answer.id)).toMatchObject({ earlier: "hold" });
    expect(await world.statuses()).toEqual({ PENDING: 7 });
  });

  test("holds what was read while an earlier version was free and is queued elsewhere before the send", async () => {
    await park(1, { eventId: "v7", version: 7n });
    const later = await world.request(await only("v7"));
    const first = { redriveId: later.id, slices: [0, 1_000] as [number, number], limit: 10 };
    const page = await takeItems(world.db, { ...first });
    expect(page.map((item) => item.eventId)).toEqual(["v7"]);
    await park(1, { eventId: "v6", version: 6n });
    await world.request(await only("v6"));
    const facts = await readOrderFacts(world.db, { id: later.id, earlier: "hold" }, page);
    expect(facts.get(page[0]!.id)).toMatchObject({ heldBy: null, waits: true });
  });

  test("is checked again when it runs: an earlier version that was parked meanwhile holds what was frozen", async () => {
    await park(2);
    const late = await world.request(await only("v2", "v1"));
    await world.park(1, () => ({ eventId: "v0", aggregateId: "1320", version: 0n }));
    await world.worker();
    expect(await world.ended(late.id)).toMatchObject({ delivered: 0, refusedByReason: { "held-by-head": 2 } });
    expect(await refusals(late.id)).toMatchObject({
      v2: expect.stringContaining("v0"),
      v1: expect.stringContaining("v0"),
    });
  });

  test("holds what waits for a token in the same page while an earlier version is parked", async () => {
    await park(2);
    await world.worker();
    const { id } = await world.request({ ratePerSecond: 0.5 });
    await expect.poll(async () => (await world.event("v1")).status).toBe("REDRIVEN");
    await world.park(1, () => ({ eventId: "v0", aggregateId: "1320", version: 0n }));
    expect(await world.ended(id)).toMatchObject({ delivered: 1, refusedByReason: { "held-by-head": 1 } });
    expect(sent()).toEqual(["v1"]);
  });

  test("a head that used up its redrives holds its tail, across claims", async () => {
    await setting("redriveLimit", 1);
    await park(110);
    world.sink.answer = ({ eventId }) => (eventId === "v1" ? 422 : 200);
    await world.worker();
    const ended = await world.ended((await world.request()).id);
    expect(await world.event("v1")).toMatchObject({ status: "IGNORED" });
    expect(ended).toMatchObject({ failed: 1, delivered: 0, refusedByReason: { "held-by-head": 109 } });
    expect(sent()).toEqual(["v1"]);
  });

  test("with pass it is sent all the same, and once its consumer has it, what it passed holds nothing more", async () => {
    await park(3);
    await world.park(2, (index) => ({ eventId: `w${index + 1}`, aggregateId: "1321", version: BigInt(index + 1) }));
    await world.worker();
    const passing = await world.request({ ...(await only("v2", "w2")), earlier: "pass" });
    expect(await world.ended(passing.id)).toMatchObject({ earlier: "pass", delivered: 2 });
    // Delivered is not processed: version 1 is still to come, and still holds.
    expect(await world.ended((await world.request(await only("w1"))).id)).toMatchObject({ delivered: 1 });
    expect(await world.request(await only("v3"))).toMatchObject({ refusedByReason: { "held-by-head": 1 } });
    await confirmEvents(world.deps, { source: "orders", eventIds: ["v2"] }, localViewer("consumer"));
    expect(await world.ended((await world.request(await only("v3"))).id)).toMatchObject({ delivered: 1 });
    expect(await world.ended((await world.request(await only("v1"))).id)).toMatchObject({
      refusedByReason: { "version-superseded": 1 },
    });
    expect(sent().filter((eventId) => eventId.startsWith("v"))).toEqual(["v2", "v3"]);
  });

  test("an older version that arrives after a late confirmation has the mark that the dry run refuses it by", async () => {
    await park(2);
    await world.worker();
    await world.ended((await world.request({ ...(await only("v2")), earlier: "pass" })).id);
    // As three days later: the row of the aggregate is removed before the event is confirmed.
    await world.db.run("update aggregates set lease_until = now() - interval '3 days'");
    await removeIdleAggregates(world.db, null);
    expect(await world.db.query("select from aggregates")).toEqual([]);
    await deliveredEarlier(world.db, "3 days");
    expect(await confirmQuietEvents(world.deps)).toBe(1);
    await removeIdleAggregates(world.db, null);
    await world.park(1, () => ({ eventId: "late", aggregateId: "1320", version: 1n }));
    expect(await world.ended((await world.request(await only("late"))).id)).toMatchObject({
      refusedByReason: { "version-superseded": 1 },
    });
    const marked = await world.db.query("select event_id from dlq_events where admission = 'superseded'");
    expect(marked).toEqual([{ event_id: "late" }]);
  });

  test("a preview says what is held, what it is behind, and what each choice would send", async () => {
    await park(7);
    await world.park(2, (index) => ({ eventId: `w${index + 5}`, aggregateId: "1321", version: BigInt(index + 5) }));
    await imposeControl(
      world.deps,
      { kind: "blacklist", scope: { eventId: "v6" }, reason: "broken", expiresAt: null },
      localViewer("ada"),
    );
    const preview = async (earlier: Earlier | undefined) =>
      previewRedrive(
        world.deps,
        {
          ...(await only("v3", "v4", "v7", "w5", "w6")),
          mode: "deliver",
          lane: "main",
          earlier,
        },
        localViewer("ada"),
      );
    const version = async (eventId: string, is: number) => ({
      id: (await world.idsOf([eventId]))[0],
      eventId,
      version: is,
    });
    const earlier = {
      heldEvents: 3,
      heldAggregates: 1,
      earlierEvents: 4,
      bounded: false,
      headIds: await world.idsOf(["v1"]),
      samples: [
        {
          ...(await version("v7", 7)),
          source: "orders",
          aggregateType: "order",
          aggregateId: "1320",
          behind: await Promise.all(
            [1, 2, 5, 6].map(async (n) => ({ ...(await version(`v${n}`, n)), status: "PENDING" })),
          ),
        },
      ],
    };
    expect(await preview(undefined)).toMatchObject({ total: 5, eligible: 2, refused: { "held-by-head": 3 }, earlier });
    expect(await preview("pass")).toMatchObject({ total: 5, eligible: 5, refused: {}, earlier });
    expect(await preview("include")).toMatchObject({
      total: 9,
      eligible: 7,
      refused: { blacklisted: 1, "held-by-head": 1 },
      earlier,
    });
    // The redrive does what its preview says.
    expect(await world.request({ ...(await only("v3", "v4", "v7", "w5", "w6")) })).toMatchObject({
      total: 5,
      refusedByReason: { "held-by-head": 3 },
    });
  });

  test("an event's page names the head and what holds it, as the redrive does", async () => {
    await park(3);
    await world.park(2, (index) => ({ eventId: `u${index}`, aggregateId: "1320", version: null }));
    const detail = async (eventId: string) =>
      readEventDetail(world.db, localViewer(), (await world.idsOf([eventId]))[0]!, world.deps.clock.wallMs());
    const v3 = await detail("v3");
    expect(v3.aggregate.filter(({ head }) => head).map(({ eventId }) => eventId)).toEqual(["v1"]);
    expect(v3.heldBy).toMatchObject({ eventId: "v1", text: "versions 1 and 2 of 1320 are parked before it" });
    expect((await detail("v1")).heldBy).toBeNull();
    expect((await detail("u0")).heldBy).toBeNull();
    await world.db.run("update dlq_events set cooldown_until = now() + interval '1 hour' where event_id = 'u0'");
    await mendAllLines(world.db);
    expect((await detail("u1")).heldBy).toMatchObject({
      eventId: "u0",
      text: expect.stringContaining("is cooling down"),
    });
    await confirmEvents(world.deps, { source: "orders", eventIds: ["v2"] }, localViewer("consumer"));
    expect((await detail("v3")).heldBy).toBeNull();
  });

  test("a redrive that passes says in the audit what it strands", async () => {
    await park(4);
    const { id } = await world.request({ ...(await only("v4")), earlier: "pass" });
    const [entry] = await world.db.query<{ after: unknown }>(
      "select after from audit_entries where redrive_id = $1 and action = 'redrive.requested'",
      [id],
    );
    expect(entry!.after).toMatchObject({
      earlier: "pass",
      stranded: { count: 3, bounded: false, sample: await world.idsOf(["v1", "v2", "v3"]) },
    });
  });

  test("one event that takes many along is frozen by the worker, in chunks", async () => {
    await world.park(2_100, (index) => ({ aggregateId: "1320", version: BigInt(index + 1) }));
    const answer = await world.request({ ...(await only("event-2099")), earlier: "include" });
    expect(answer).toMatchObject({ state: "PLANNING", total: null });
    await planRedrive(world.deps, answer.id, new AbortController().signal);
    expect(await world.redrive(answer.id)).toMatchObject({ total: 2_100, open: 2_100 });
  });

  test("a large redrive is held in each chunk, and takes each earlier version along once", async () => {
    // 4,102 selected events, two chunks of a plan. Each aggregate begins with a version of another error code: 50 aggregates of
    // 81 later versions, and 50 of one, which lie in one chunk.
    const codeOf = (version: number) => (version === 0 ? "UPSTREAM_5XX" : "TIMEOUT");
    const long = (index: number) => {
      const version = Math.floor(index / 50);
      return { aggregateId: `long-${index % 50}`, version: BigInt(version), errorCode: codeOf(version) };
    };
    const pair = (index: number) => ({
      ...{ eventId: `pair-${index}`, aggregateId: `pair-${index >> 1}` },
      ...{ version: BigInt(index & 1), errorCode: codeOf(index & 1) },
    });
    // And one aggregate whose later versions lie in both chunks, behind one that is ignored.
    const split = (n: number) => ({
      eventId: `split${n}`,
      aggregateId: "split",
      version: BigInt(n),
      errorCode: "TIMEOUT",
    });
    await world.park(1, () => ({ ...split(1), errorCode: "UPSTREAM_5XX" }));
    await world.park(1, () => split(2));
    await ignoreEvents(world.deps, { ...(await only("split1")), reason: "not wanted" }, localViewer("ada"));
    await world.park(4_100, long);
    await world.park(100, pair);
    await world.park(1, () => split(3));
    const select = { filter: { errorCode: ["TIMEOUT"] } };
    const planned = async (earlier: "hold" | "include") => {
      const { id } = await world.request({ select, earlier });
      await planRedrive(world.deps, id, new AbortController().signal);
      return world.redrive(id);
    };
    expect(await planned("hold")).toMatchObject({
      state: "DONE",
      total: 4_102,
      refusedByReason: { "held-by-head": 4_102 },
    });
    expect(await planned("include")).toMatchObject({
      total: 4_203,
      // Version 2 lies in another chunk than the one that took version 1 along: the worker refuses it.
      open: 4_201,
      refusedByReason: { ignored: 1, "held-by-head": 1 },
    });
  });
});
