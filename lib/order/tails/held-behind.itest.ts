import { afterAll, beforeAll, expect, test } from "vitest";
import { listEvents } from "@/lib/events/list/event-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { aggregateKeyOf } from "@/lib/order/aggregate.pure";
import { readOrderAtOnce, readOrderOneByOne } from "@/lib/order/aggregate-order.read";
import { heldBehindOf, readHeldBehind } from "@/lib/order/tails/held-behind.read";
import type { Queryable } from "@/lib/platform/database/db";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/** More parked events of one aggregate than are read before a limit of time holds. */
const STORM = 5_002;

let world: World;
beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.park(2, (index) => ({ eventId: `small-${index}`, aggregateId: "order-1", version: BigInt(index + 1) }));
  await world.park(STORM, (index) => ({
    eventId: `large-${index}`,
    aggregateId: "tenant",
    version: BigInt(index + 1),
  }));
  await world.park(1, () => ({ eventId: "small-2", aggregateId: "order-1", version: 3n }));
});
afterAll(() => world.close());

async function behind(): Promise<(string | null)[]> {
  const query = { filter: {}, limit: 3, cursor: null };
  const { items } = await listEvents(world.db, localViewer("ada"), query, Date.now());
  return items.map(({ eventId, heldBehind }) => `${eventId} behind ${heldBehind?.eventId ?? "nothing"}`);
}

test("an aggregate of many parked events is shown with its head, and its neighbours with theirs", async () => {
  expect(await behind()).toEqual([
    "small-2 behind small-0",
    `large-${STORM - 1} behind large-0`,
    `large-${STORM - 2} behind large-0`,
  ]);
});

test("the events of aggregates are found by their aggregates, also by a plan from before any was confirmed", async () => {
  await world.db.run("vacuum analyze dlq_events");
  const { items } = await listEvents(world.db, localViewer("ada"), { filter: {}, limit: 3, cursor: null }, Date.now());
  const plans: string[] = [];
  const db: Queryable = {
    ...world.db,
    query: async (text: string, values?: readonly unknown[]) => {
      plans.push(JSON.stringify(await world.db.query(`explain (format json) ${text}`, values)));
      return world.db.query(text, values) as never;
    },
  };
  await readHeldBehind(db, items.slice(0, 1));
  const scans = plans.flatMap((plan) => [...plan.matchAll(/"Index Name":"(dlq_events_\d+_\w+)"[^{}]*/g)]);
  expect(scans.length).toBeGreaterThan(1);
  for (const [scan] of scans) expect(scan).toMatch(/"Index Cond":"[(]+aggregate_id = ANY/);
});

test("a page is shown without what holds its events when that cannot be read in time", async () => {
  await world.db.transaction(async (tx) => {
    await tx.run("lock table processed_events in access exclusive mode");
    expect(await behind()).toEqual([
      "small-2 behind nothing",
      `large-${STORM - 1} behind nothing`,
      `large-${STORM - 2} behind nothing`,
    ]);
  });
});

test("a page says what the gate says, whatever became of the earlier versions", async () => {
  // Two types and two sources share each id: five events of each aggregate.
  await world.source("billing");
  for (const name of ["orders", "billing"]) {
    const change = (index: number) => ({
      eventId: `mixed-${index}`,
      aggregateId: `mixed-${index % 6}`,
      aggregateType: index % 12 < 6 ? "order" : null,
      version: index % 7 === 3 ? null : BigInt((index * 5) % 11),
    });
    await world.park(60, change, name);
  }
  const turned = (every: number, change: string) =>
    world.db.run(`update dlq_events set ${change} where aggregate_id like 'mixed-%' and hashtext(event_id) & 7 = $1`, [
      every,
    ]);
  await turned(1, "status = 'IGNORED'");
  await turned(2, "cooldown_until = now() + interval '1 hour'");
  await turned(3, "status = 'REDRIVEN', confirmed_at = now()");
  await world.db.run(
    `insert into processed_events (source_id, event_id, consumer, aggregate_type, aggregate_id, version, processed_at)
     select source_id, event_id, 'billing', coalesce(aggregate_type, ''), aggregate_id, version, now() from dlq_events
      where aggregate_id like 'mixed-%' and hashtext(event_id) & 15 = 5`,
  );
  await world.db.run(
    `insert into skipped_heads (id, revision, bounces, reason, created_by, created_at)
     select id, revision, bounces, 'tested', 'ada', now() from dlq_events
      where aggregate_id like 'mixed-%' and hashtext(event_id) & 7 = 4`,
  );
  const { items } = await listEvents(
    world.db,
    localViewer("ada"),
    { filter: {}, limit: 120, cursor: null },
    Date.now(),
  );
  const sources = await world.db.query<{ id: string; name: string }>("select id, name from sources");
  const sourceIds = new Map(sources.map(({ id, name }) => [name, id]));
  const named = items.map((item) => ({ ...item, sourceId: sourceIds.get(item.source)! }));
  const aggregates = named.map(({ sourceId, aggregateType, aggregateId }) => ({
    sourceId,
    aggregateType,
    aggregateId: aggregateId!,
  }));
  const orders = await readOrderOneByOne(world.db, aggregates, null);
  expect(await readOrderAtOnce(world.db, aggregates, null)).toEqual(orders);
  const expected = named.flatMap((event) => {
    const held = heldBehindOf(event, orders.get(aggregateKeyOf(event)!)!);
    return held === null ? [] : [[event.id, held]];
  });
  expect(expected.length).toBeGreaterThan(10);
  expect([...(await readHeldBehind(world.db, items))]).toEqual(expected);
});
