import { afterAll, beforeAll, expect, test } from "vitest";
import { listEvents } from "@/lib/events/list/event-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { aggregateKeyOf } from "@/lib/order/aggregate.pure";
import { headsOf, isSuperseded } from "@/lib/order/order-gate.pure";
import { heldBehindOf, readHeldBehind } from "@/lib/order/tails/held-behind.read";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

/** Parked events of one aggregate. */
const STORM = 1_002;

type OrderedEvent = Omit<Parameters<typeof heldBehindOf>[0], "version"> & {
  eventId: string;
  aggregateId: string;
  version: string | null;
  skipped: boolean;
  cools: boolean;
  processed: boolean;
};

const byVersion = (a: bigint, b: bigint) => Number(a - b);

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

test("what holds a page is looked up by key, however long the line of an aggregate is", async () => {
  const { items } = await listEvents(world.db, localViewer("ada"), { filter: {}, limit: 50, cursor: null }, Date.now());
  const looked = countingRows(world.db, "aggregate_lines");
  await readHeldBehind(looked.db, items);
  // The head of the line of each event.
  expect(looked.rows()).toBe(items.length);
});

test("events without a version are looked up by the cooldowns of their line alone", async () => {
  await world.park(STORM, (index) => ({ eventId: `loose-${index}`, aggregateId: "loose" }));
  await world.db.run("analyze aggregate_lines");
  const { items } = await listEvents(world.db, localViewer("ada"), { filter: {}, limit: 50, cursor: null }, Date.now());
  expect(items.map(({ eventId }) => eventId)).toContain(`loose-${STORM - 50}`);
  const looked = countingRows(world.db, "aggregate_lines");
  await readHeldBehind(looked.db, items);
  expect(looked.rows()).toBe(0);
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
  await mendAllLines(world.db);
  const { items } = await listEvents(
    world.db,
    localViewer("ada"),
    { filter: {}, limit: 120, cursor: null },
    Date.now(),
  );
  const rows = await world.db.query<OrderedEvent>(
    `select e.id, e.event_id as "eventId", e.version, e.status, e.source_id as "sourceId", e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", s.name as source, e.status = 'PENDING' and e.cooldown_until > now() as cools,
            exists (select from skipped_heads k where k.id = e.id) as skipped,
            (e.status = 'REDRIVEN' and e.confirmed_at is not null)
              or exists (select from processed_events p where p.event_id = e.event_id and p.source_id = e.source_id) as processed
       from dlq_events e join sources s on s.id = e.source_id where e.aggregate_id like 'mixed-%'`,
  );
  const events = rows.map((row) => ({ ...row, version: row.version === null ? null : BigInt(row.version) }));
  const expected = [...Map.groupBy(events, (event) => aggregateKeyOf(event)!).values()].flatMap((aggregate) => {
    const versions = aggregate.flatMap(({ processed, version }) => (processed && version !== null ? [version] : []));
    const processed = versions.sort(byVersion).at(-1) ?? null;
    const holding = aggregate.filter(({ skipped }) => !skipped);
    const order = {
      heads: headsOf(holding, processed),
      cooling: holding.filter((event) => event.cools && !isSuperseded(event, processed)),
    };
    return aggregate.flatMap((event) => {
      const held = heldBehindOf(event, order);
      return held === null ? [] : [[event.id, held] as const];
    });
  });
  expect(expected.length).toBeGreaterThan(10);
  const shown = await readHeldBehind(world.db, items);
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(expected));
});

test("the newest version that is processed counts", async () => {
  const processed = 12;
  await world.park(processed, (index) => ({
    eventId: `busy-${index + 1}`,
    aggregateId: "busy",
    version: BigInt(index + 1),
  }));
  // One of them is still parked, and its version is processed.
  await world.db.run(
    "update dlq_events set status = 'REDRIVEN', confirmed_at = now() where aggregate_id = 'busy' and version <> 7",
  );
  await world.park(2, (index) => ({
    eventId: `after-${index + 1}`,
    aggregateId: "busy",
    version: BigInt(processed + index + 1),
  }));
  await mendAllLines(world.db);
  expect((await behind()).slice(0, 2)).toEqual(["after-2 behind after-1", "after-1 behind nothing"]);
});
