import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AggregateName } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import type { AggregateResult } from "@/lib/order/aggregate-result.pure";
import type { Earlier } from "@/lib/order/order-gate.pure";
import type { Tx } from "@/lib/platform/database/db";
import { refuseQueuedItems } from "@/lib/redrive/life/withdraw-items.write";
import { insertItems } from "@/lib/redrive/plan/freeze-events.write";
import { type ClaimedItem, claimItems, renewClaims } from "@/lib/redrive/run/store/claim-items.write";
import { insertAttempts, settleAggregates } from "@/lib/redrive/run/store/finish-items.write";
import { freeForgottenClaims, freeLostClaims, releaseClaims } from "@/lib/redrive/run/store/free-claims.write";
import {
  type AttemptIntent,
  attemptKey,
  markAmbiguous,
} from "@/lib/redrive/run/store/intents.write";
import { slicesNextInLine } from "@/lib/redrive/run/store/slice-waits.write";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { endOf, intend } from "@/lib/testing/sends";
import { countingRows } from "@/lib/testing/rows-looked-at";

let world: World;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
});
afterEach(() => world.close());

/** A claim as the worker makes it, of a redrive with a single slice. */
function claim(redriveId: string, limit = 100): Promise<ClaimedItem[]> {
  return claimItems(world.db, { redriveId, slices: [0, 0], limit, leaseMs: 30_000 });
}

const eventIds = (items: readonly ClaimedItem[]) => items.map((item) => item.eventId).sort();

/** As time would: the holder gave no sign of life for longer than its claim lasts. */
function letClaimsExpire(): Promise<number> {
  return world.db.run(
    "update redrive_items set claimed_until = now() - interval '1 second' where claimed_until is not null",
  );
}

function intentOf(item: ClaimedItem, attempt = 1): AttemptIntent {
  return {
    id: item.id,
    redriveId: item.redriveId,
    fence: item.fence,
    attempt,
    target: "orders",
    targetId: item.sourceId,
    revision: item.revision,
    idempotencyKey: `${item.source}:${item.eventId}`,
    eventId: item.eventId,
    aggregateType: item.aggregateType,
    aggregateId: item.aggregateId,
    errorCode: item.errorCode,
    source: item.source,
    whitelisted: false,
  };
}

async function freeze(eventIdsWanted: string[], earlier: Earlier = "hold"): Promise<string> {
  const answer = await world.request({ select: { ids: await world.idsOf(eventIdsWanted) }, earlier });
  return answer.id;
}

describe("a claim", () => {
  test("gives each item to one of many workers that ask at the same moment", async () => {
    await world.park(40);
    const { id } = await world.request();
    const claims = await Promise.all(Array.from({ length: 6 }, () => claim(id, 10)));
    const claimed = claims.flat().map((item) => item.id);
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(claims.flat().every((item) => item.fence === 1n)).toBe(true);
  });

  test("that expired is taken over under a higher fence, and the old holder can neither renew nor send, also in one call with the new one", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [stale] = await claim(id);
    expect(await claim(id)).toEqual([]);
    await letClaimsExpire();
    const [fresh] = await claim(id);
    expect(fresh).toMatchObject({ id: stale!.id, fence: stale!.fence + 1n });

    expect(await renewClaims(world.db, [stale!], 30_000)).toEqual(new Set());
    expect(await renewClaims(world.db, [fresh!], 30_000)).toEqual(new Set([fresh!.id]));
    expect(await intend(world.db, [intentOf(stale!)])).toEqual(new Set());
    const both = [intentOf(stale!), intentOf(fresh!)];
    const opened = await intend(world.db, both);
    expect(both.map((intent) => opened.has(attemptKey(intent)))).toEqual([false, true]);
  });

  test("is empty while the redrive does not run, is held or waits for its time, by the database's clock", async () => {
    await world.park(1);
    const { id } = await world.request({ holdMs: 60_000 });
    const set = (change: string) => world.db.run(`update redrives set ${change} where id = $1`, [id]);
    expect(await claim(id)).toEqual([]);
    await set("hold_until = now(), start_at = now() + interval '1 hour'");
    expect(await claim(id)).toEqual([]);
    await set("start_at = now(), state = 'PAUSED'");
    expect(await claim(id)).toEqual([]);
    await set("state = 'RUNNING'");
    expect(await claim(id)).toHaveLength(1);
  });
});

describe("an event", () => {
  test("has one open item at the most, whichever redrive asks", async () => {
    await world.park(1);
    const first = await world.request();
    const [candidate] = await world.db.query<{ id: string; sourceId: string }>(
      `select id, source_id as "sourceId" from dlq_events`,
    );
    const [other] = await world.db.query<{ id: string }>(
      `insert into redrives select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).*
         from redrives r where id = $1 returning id`,
      [first.id],
    );
    const item = { ...candidate!, aggregateId: null, version: null, revision: 1, errorCode: "TIMEOUT" };
    const planned = { candidate: item as never, refusal: null, detail: null };
    await expect(world.db.transaction((tx) => insertItems(tx, other!.id, [planned]))).rejects.toMatchObject({
      code: "23505",
    });
  });
});

describe("the order of an aggregate", () => {
  test("is held by an item in hand, and by a deferred one: nothing behind it is claimed", async () => {
    await world.park(4, (index) => ({ aggregateId: `order-${index >> 1}`, version: BigInt(index + 1) }));
    const { id } = await world.request();
    await world.db.run(
      `update redrive_items i set not_before = now() + interval '1 minute'
         from dlq_events e where e.id = i.id and e.event_id = 'event-0002'`,
    );
    expect(eventIds(await claim(id, 1))).toEqual(["event-0000"]);
    expect(await claim(id)).toEqual([]);
  });

  test("is held across redrives: an earlier open item of another one blocks what comes behind it", async () => {
    await world.park(4, (index) => ({ aggregateId: index < 3 ? "order-1" : "order-2", version: BigInt(index + 1) }));
    const first = await freeze(["event-0001"], "pass");
    const second = await freeze(["event-0000", "event-0002", "event-0003"]);
    await world.db.run("update redrives set state = 'PAUSED' where id = $1", [first]);
    // What comes before it may go, and so may other aggregates; what comes behind it waits, paused or not.
    expect(eventIds(await claim(second))).toEqual(["event-0000", "event-0003"]);
  });

  test("has one holder, which another redrive waits for until its claim is given back, or its lease is over", async () => {
    await world.park(3, (index) => ({ aggregateId: index < 2 ? "order-1" : "order-2", version: BigInt(index + 1) }));
    const later = await freeze(["event-0001"], "pass");
    const other = await freeze(["event-0002"]);
    const claimed = await claim(later);
    await claim(other);
    const earlier = await freeze(["event-0000"]);
    expect(await claim(earlier)).toEqual([]);
    await releaseClaims(world.db, claimed);
    expect(eventIds(await claim(earlier))).toEqual(["event-0000"]);
    const leased = await world.db.query(
      "select aggregate_id as id, lease_redrive as by from aggregates where lease_until > now() order by 1",
    );
    expect(leased).toEqual([
      { id: "order-1", by: earlier },
      { id: "order-2", by: other },
    ]);
    await letClaimsExpire();
    expect(await claim(earlier)).toHaveLength(1);
    await letClaimsExpire();
    expect(await claim(later)).toEqual([]);
    await world.db.run("update redrive_items set state = 'delivered' where redrive_id = $1", [earlier]);
    await mendAllLines(world.db);
    expect(await claim(later)).toEqual([]);
    await world.db.run("update aggregates set lease_until = now() - interval '1 second'");
    expect(eventIds(await claim(later))).toEqual(["event-0001"]);
  });

  test("is of the source, the type and the id together: what shares an id holds nobody", async () => {
    await world.source("billing");
    const types = ["order", "customer", null];
    await world.park(3, (index) => ({ aggregateId: "42", aggregateType: types[index]!, version: BigInt(7 - index) }));
    await world.park(1, () => ({ eventId: "elsewhere", aggregateId: "42", version: 2n }), "billing");
    const paused = await freeze(["event-0002"]);
    await world.db.run("update redrives set state = 'PAUSED' where id = $1", [paused]);
    const redrives = [await freeze(["event-0000"]), await freeze(["event-0001"]), await freeze(["elsewhere"])];
    const claims = await Promise.all(redrives.map((id) => claim(id)));
    expect(claims.map(eventIds)).toEqual([["event-0000"], ["event-0001"], ["elsewhere"]]);
    expect(await world.db.query("select 1 from aggregates where lease_until > now()")).toHaveLength(3);
    for (const [item] of claims) expect((await renewClaims(world.db, [item!], 30_000)).size).toBe(1);
  });

  test.each([
    { name: "that is new", leased: false },
    { name: "that was sent before", leased: true },
  ])("has one claim at a time, also of one slice rung twice: an aggregate $name", async ({ leased }) => {
    await world.park(4, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    const { id } = await world.request();
    if (leased) {
      // Its first event was withdrawn from the hand that held it: the lease goes on, and the same slice may use it.
      const [first] = await claim(id, 1);
      await world.db.transaction((tx) => refuseQueuedItems(tx, [first!.id], "ignored"));
    }
    const claimed = Promise.withResolvers<ClaimedItem[]>();
    const commit = Promise.withResolvers<void>();
    const small = world.db.transaction(async (tx) => {
      claimed.resolve(await claimItems(tx, { redriveId: id, slices: [0, 0], limit: 1, leaseMs: 30_000 }));
      await commit.promise;
    });
    expect(eventIds(await claimed.promise)).toEqual([leased ? "event-0001" : "event-0000"]);
    const large = claim(id, 100);
    const waiting = () =>
      world.db.query("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()");
    await expect.poll(waiting).toHaveLength(1);
    commit.resolve();
    await small;
    // Both began with the aggregate free: whoever came second must not take what lies behind the first one's item.
    expect(eventIds(await large)).toEqual([]);
  });

  test("is by version first, events without one last, then by the time they were parked", async () => {
    const versions = [null, 7n, 2n, null, -1n];
    await world.park(5, (index) => ({ aggregateId: "order-1", version: versions[index]! }));
    const { id } = await world.request();
    const order: string[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const [item] = await claim(id, 1);
      order.push(item!.eventId);
      await world.db.run("update redrive_items set state = 'delivered' where id = $1", [item!.id]);
    }
    expect(order).toEqual(["event-0004", "event-0002", "event-0001", "event-0000", "event-0003"]);
  });
});

describe("an intent", () => {
  test("that nobody closed is ambiguous to the next holder alone, who goes on counting, and is not closed by the one that lost it", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [dead] = await claim(id);
    await intend(world.db, [intentOf(dead!)]);
    await markAmbiguous(world.db, id, [dead!]);
    const attempts = () => world.db.query("select state, code from sends order by attempt");
    expect(await attempts()).toEqual([{ state: "open", code: null }]);
    await letClaimsExpire();
    const [next] = await claim(id);
    expect(await markAmbiguous(world.db, id, [next!])).toEqual(
      new Map([[next!.id, { attempt: 1, delivered: null, unreached: 0 }]]),
    );
    expect(await intend(world.db, [intentOf(next!, 1)])).toEqual(new Set());
    expect(await intend(world.db, [intentOf(next!, 2)])).toEqual(new Set([attemptKey(intentOf(next!, 2))]));
    await world.db.transaction((tx) => insertAttempts(tx, [endOf(dead!)]));
    expect(await attempts()).toEqual([
      { state: "ambiguous", code: "WORKER_LOST" },
      { state: "open", code: null },
    ]);
  });

  test("that is on record as delivered, by a holder that lost the item before it closed it, is told to the next one, who does not send it again", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [stale] = await claim(id);
    await intend(world.db, [intentOf(stale!)]);
    await letClaimsExpire();
    const [next] = await claim(id);
    const delivered = endOf(stale!, { state: "delivered", code: "OK" });
    await world.db.transaction((tx) => insertAttempts(tx, [delivered]));
    expect(await markAmbiguous(world.db, id, [next!])).toEqual(
      new Map([[next!.id, { attempt: 1, delivered: "OK", unreached: 0 }]]),
    );
    await letClaimsExpire();
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 1 });
    expect(world.sink.arrived).toEqual([]);
  });

  test("is denied once the redrive is paused, cancelled or held", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await claim(id);
    for (const change of [
      "state = 'PAUSED'",
      "state = 'CANCELLED'",
      "state = 'RUNNING', hold_until = now() + interval '1 h'",
    ]) {
      await world.db.run(`update redrives set ${change} where id = $1`, [id]);
      expect(await intend(world.db, [intentOf(item!)])).toEqual(new Set());
    }
    await world.db.run("update redrives set hold_until = null where id = $1", [id]);
    expect((await intend(world.db, [intentOf(item!)])).size).toBe(1);
  });

  test("is denied by a blacklist over its event, aggregate, code or source, and by no other: of another source or type, lifted or over", async () => {
    await world.park(1, () => ({ aggregateId: "42", errorCode: "TIMEOUT" }));
    const { id } = await world.request();
    const [item] = await claim(id);
    let attempt = 1;
    /** Whether the next attempt may begin, `true` as long as no control speaks against it. */
    const opens = async (whitelisted = false) => {
      const opened = (await intend(world.db, [{ ...intentOf(item!, attempt), whitelisted }])).size === 1;
      if (opened) attempt++;
      return opened;
    };
    const set = (change: string) => world.db.run(`update controls set ${change}`);
    for (const [scope, value, source, type] of [
      ["eventId", "event-0000", null, null],
      ["aggregateId", "42", null, null],
      ["errorCode", "TIMEOUT", null, null],
      ["source", "orders", null, null],
      ["eventId", "event-0000", "orders", null],
      ["aggregateId", "42", "orders", null],
      ["aggregateId", "42", "orders", "order"],
      ["errorCode", "TIMEOUT", "orders", null],
    ]) {
      await world.db.run("delete from controls");
      await world.db.run(
        `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
         values (gen_random_uuid(), 'blacklist', $1, $2, $3, $4, 'broken producer', 'person', 'ada')`,
        [scope, value, source, type],
      );
      const about = [scope, source, type].join(" ");
      // One that Parkade imposed yields to a whitelist, a person's never.
      expect(await opens(true), about).toBe(false);
      await set("origin = 'automatic'");
      expect([await opens(), await opens(true)], about).toEqual([false, true]);
      await set("origin = 'person', expires_at = now() - interval '1 second'");
      expect(await opens(), about).toBe(true);
      await set("expires_at = null, lifted_at = now()");
      expect(await opens(), about).toBe(true);
      if (source === null) continue;
      await set("lifted_at = null, source = 'billing'");
      expect(await opens(), about).toBe(true);
      await set("source = 'orders', aggregate_type = 'customer'");
      expect(await opens(), about).toBe(true);
    }
  });

  test("looks its controls up, and reads none of the others", async () => {
    await world.park(20, (index) => ({ aggregateId: `order-${index}`, aggregateType: index === 0 ? null : "order" }));
    // The first is over the aggregate of no type.
    await world.db.run(
      `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
       select uuidv7(), 'blacklist', 'aggregateId', 'order-' || n, case when n = 0 then 'orders' else 'billing' end,
              case when n = 0 then '' else 'order' end, '3 failed in a row', 'automatic', 'worker'
         from generate_series(0, 20000) n`,
    );
    await world.db.run("analyze controls");
    const { id } = await world.request();
    const intents = (await claim(id)).map((item) => intentOf(item));
    const explaining = countingRows(world.db, "controls");
    await intend(explaining.db, intents);
    expect(explaining.rows()).toBeGreaterThan(0);
    expect(explaining.rows()).toBeLessThanOrEqual(20);
    const next = intents.map((intent) => ({ ...intent, attempt: 2 }));
    expect((await intend(world.db, next)).size).toBe(19);
  });
});

describe("the claims of a worker", () => {
  const [lost, alive, own] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ];
  const beat = (id: string, agoS: number) =>
    world.db.run(
      `insert into worker_heartbeats (id, started_at, seen_at) values ($1, now(), now() - make_interval(secs => $2))
       on conflict (id) do update set seen_at = excluded.seen_at`,
      [id, agoS],
    );
  const claimAs = (workerId: string, redriveId: string, limit: number) =>
    claimItems(world.db, { redriveId, slices: [0, 0], limit, leaseMs: 30_000, workerId });
  const free = () => world.db.transaction((tx) => freeLostClaims(tx, own, 6_000));

  test("without a sign of life are free for others, with their aggregates; those of one that lives are not", async () => {
    await world.park(4, (index) => ({ aggregateId: `order-${index}` }));
    const { id } = await world.request();
    const taken = await claimAs(lost, id, 2);
    await claimAs(alive, id, 1);
    await beat(lost, 7);
    await beat(alive, 5);
    await beat(own, 0);
    expect(await free()).toBe(2);
    expect(await free()).toBeNull();
    const leases = await world.db.query<{ aggregate_id: string }>(
      "select aggregate_id from aggregates where lease_until < now() order by aggregate_id",
    );
    expect(leases.map((row) => row.aggregate_id)).toEqual(["order-0", "order-1"]);
    expect(eventIds(await claimAs(own, id, 9))).toEqual(["event-0000", "event-0001", "event-0003"]);
    // One that was only slow finds its fence gone.
    expect(
      await intend(
        world.db,
        taken.map((item) => intentOf(item)),
      ),
    ).toEqual(new Set());
  });

  test("whose last one is in the future are free, too: the clock of the store was set back since; but not before its own next one", async () => {
    await world.park(2);
    const { id } = await world.request();
    await claimAs(lost, id, 2);
    await beat(lost, -3_600);
    await beat(own, -3_600);
    expect(await free()).toBeNull();
    await beat(own, 0);
    expect(await free()).toBe(2);
    expect(await claimAs(own, id, 2)).toHaveLength(2);
  });

  test("stay while the store was away for the one that looks, too", async () => {
    await world.park(2);
    const { id } = await world.request();
    await claimAs(lost, id, 2);
    await beat(lost, 9);
    await beat(own, 4);
    expect(await free()).toBeNull();
    expect(await claimAs(own, id, 2)).toEqual([]);
  });

  test("that it does not know of are free, unless their answer may be on its way", async () => {
    await world.park(6);
    const { id } = await world.request();
    const held = await claimAs(own, id, 2);
    await claimAs(own, id, 2);
    await world.db.run(
      "update redrive_items set claimed_until = claimed_until - interval '3 s' where claimed_by is not null",
    );
    await claimAs(own, id, 1);
    const bounds = { leaseMs: 30_000, recentMs: 2_000 };
    expect(await freeForgottenClaims(world.db, own, held, bounds)).toBe(2);
    expect(eventIds(await claimAs(alive, id, 9))).toEqual(["event-0002", "event-0003", "event-0005"]);
  });
});

describe("the end of an item", () => {
  const settle = (item: ClaimedItem) =>
    world.db.transaction((tx) =>
      settleAggregates(tx, item.redriveId, [{ ...item, aggregateId: item.aggregateId!, reset: false, failures: 0 }]),
    );
  const closed = ({ id }: ClaimedItem) =>
    world.db.run("update redrive_items set state = 'delivered', claimed_until = null where id = $1", [id]);
  const leases = async () => (await world.db.query("select 1 from aggregates where lease_until > now()")).length;

  test("ends the lease of its aggregate once its redrive holds no other item of it", async () => {
    await world.park(2, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    const { id } = await world.request();
    const [first, second] = await claim(id);
    await closed(first!);
    await settle(first!);
    expect(await leases()).toBe(1);
    await closed(second!);
    await settle(second!);
    expect(await leases()).toBe(0);
  });

  test("names the slice of the running redrive that is next in its aggregate, and none of one that does not run", async () => {
    await world.park(2, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    const first = await freeze(["event-0000"]);
    const second = await freeze(["event-0001"], "pass");
    const [item] = await claim(first);
    await closed(item!);
    const next = () => slicesNextInLine(world.db, first, [item!.id]);
    expect(await next()).toEqual([{ lane: "main", redriveId: second, slice: 0 }]);
    await world.db.run("update redrives set state = 'PAUSED' where id = $1", [second]);
    expect(await next()).toEqual([]);
  });
});

describe("a plan that was made while no item was open", () => {
  /** Statistics that show no open item, then a redrive of 1,200 aggregates. */
  async function freezeUnseen(): Promise<ClaimedItem[]> {
    await world.park(1_200);
    const { id: earlier } = await world.request();
    await world.db.run("update redrive_items set state = 'cancelled' where redrive_id = $1", [earlier]);
    await world.db.run("update dlq_events set status = 'PENDING'");
    await mendAllLines(world.db);
    await world.db.run("vacuum analyze redrive_items");
    const { id } = await world.request();
    // A slice holds some of them: claims of all slices together.
    return claimItems(world.db, { redriveId: id, slices: [0, 1_000], limit: 20, leaseMs: 30_000 });
  }

  test("reads for each aggregate its own open items, and not those of the others", async () => {
    const items = await freezeUnseen();
    expect(items).toHaveLength(20);
    const { redriveId } = items[0]!;
    const looked = countingRows(world.db, "redrive_items");
    await slicesNextInLine(
      looked.db,
      redriveId,
      items.map(({ id }) => id),
    );
    await readAggregateOrder(looked.db, items as AggregateName[], { id: redriveId, earlier: "hold" });
    const results = items.map((item) => ({ ...item, reset: false, failures: 0 }));
    await settleAggregates(looked.db as Tx, redriveId, results as AggregateResult[]);
    expect(looked.rows()).toBeLessThan(10 * items.length);
  });
});
