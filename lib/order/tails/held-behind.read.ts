import type { EventOut, HeldBehind } from "@/lib/events/events.shapes";
import { aggregateKey, aggregateKeyOf, NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import { readAggregateOrder, readVersionsProcessed } from "@/lib/order/aggregate-order.read";
import { HEADS_MAX, type Head, isSuperseded } from "@/lib/order/order-gate.pure";
import { comparePlaces } from "@/lib/order/place.pure";
import { HOLDS } from "@/lib/order/skip.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { type HoldingEvents, holderOf } from "@/lib/redrive/gate/dry-run-facts.read";
import { versionOut } from "@/lib/redrive/preview/earlier-summary.read";
import { EVENT } from "@/lib/redrive/states/state.sql";

type Facts = Pick<EventOut, "id" | "source" | "status" | "aggregateType" | "aggregateId" | "version">;

/** Parked events of the aggregates of a page that are read before their order is read within a time limit. */
const PARKED_MAX = 5_000;
/** The order of an aggregate with up to this many of them is made of what was read, without another look at each day. */
const LISTED_MAX = 50;

/**
 * What holds each of these events behind it, by the rule of the gate; those that nothing holds are left out. Nothing that is
 * stored says so: it costs an index read a day's partition for all events together, another for the processed version of each
 * aggregate with a second parked event, and the order of the few that have many. `inTime` bounds the reads where these aggregates have PARKED_MAX parked events or more; null =
 * its time was over, and then the answer is empty.
 */
export async function readHeldBehind(
  db: Queryable,
  events: readonly Facts[],
  inTime: ReadInTime = (read) => read(db),
): Promise<Map<string, HeldBehind>> {
  const pending = events.filter(({ status, aggregateId }) => status === "PENDING" && aggregateId !== null);
  if (pending.length === 0) return new Map();
  const ids = [...new Set(pending.map(({ aggregateId }) => aggregateId!))];
  const parked = await db.query<Parked>(
    `select e.source_id as "sourceId", s.name as source, e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", e.n, e.events
       from (select e.source_id, e.aggregate_type, e.aggregate_id, count(*) as n,
                    case when count(*) between 2 and ${LISTED_MAX} then jsonb_agg(jsonb_build_object('id', e.id,
                      'eventId', e.event_id, 'version', e.version::text, 'status', e.status,
                      'cools', e.status = ${EVENT.PENDING} and e.cooldown_until > now())) end as events
               from (select e.id, e.source_id, coalesce(e.aggregate_type, '') as aggregate_type, e.aggregate_id, e.event_id,
                            e.version, e.status, e.cooldown_until
                       from dlq_events e
                      where e.aggregate_id = any($1::text[]) and ${HOLDS} limit ${PARKED_MAX}) e
              group by e.source_id, e.aggregate_type, e.aggregate_id) e
       join sources s on s.id = e.source_id`,
    [ids],
    { name: "parked-of-aggregates" },
  );
  const shared = parked.filter(({ n }) => n > 1);
  if (parked.reduce((sum, { n }) => sum + n, 0) < PARKED_MAX) {
    const long = shared.filter(({ events }) => events === null);
    const orders = await readHolding(db, shared);
    return heldIn(pending, shared, new Map([...orders, ...(await readAggregateOrder(db, long, null))]));
  }
  // Not all of their aggregates were read: each is asked for its order, whether it has a second event or not.
  const all = pending.map(({ source, aggregateType, aggregateId }) => ({
    source,
    aggregateType: aggregateType ?? NO_AGGREGATE_TYPE,
    aggregateId: aggregateId!,
  }));
  const found = await inTime(async (tx) => {
    const sources = await tx.query<{ id: string; name: string }>("select id, name from sources where name = any($1)", [
      [...new Set(all.map(({ source }) => source))],
    ]);
    const idOf = new Map(sources.map(({ id, name }) => [name, id]));
    const named = all.flatMap((each) => {
      const sourceId = idOf.get(each.source);
      return sourceId === undefined ? [] : [{ ...each, sourceId }];
    });
    return heldIn(pending, named, await readAggregateOrder(tx, named, null));
  });
  return found ?? new Map();
}

type ReadInTime = <T>(read: (tx: Queryable) => Promise<T>) => Promise<T | null>;
/** `version` as text: JSON has no 64-bit numbers. */
type ParkedEvent = Omit<Head, "version"> & { version: string | null; cools: boolean | null };
type Parked = {
  sourceId: string;
  source: string;
  aggregateType: string;
  aggregateId: string;
  n: number;
  events: ParkedEvent[] | null;
};

/** What holds in each aggregate whose parked events were read, by `aggregateKey`. */
async function readHolding(db: Queryable, aggregates: readonly Parked[]): Promise<Map<string, HoldingEvents>> {
  const read = aggregates.flatMap(({ events, ...name }) => (events === null ? [] : [{ name, events }]));
  const processed = await readVersionsProcessed(
    db,
    read.map(({ name }) => name),
  );
  return new Map(
    read.map(({ name, events }) => {
      const key = aggregateKey(name);
      return [key, holdingOf(events, processed.get(key) ?? null)];
    }),
  );
}

function holdingOf(events: readonly ParkedEvent[], versionProcessed: bigint | null): HoldingEvents {
  const holding = events
    .map((event) => ({ ...event, version: event.version === null ? null : BigInt(event.version) }))
    .filter((event) => !isSuperseded(event, versionProcessed));
  const heads = holding
    .flatMap(({ version, ...event }) => (version === null ? [] : [{ ...event, version }]))
    .sort(comparePlaces)
    .slice(0, HEADS_MAX);
  return { heads, cooling: holding.filter(({ cools }) => cools) };
}

function heldIn(
  pending: readonly Facts[],
  aggregates: readonly Pick<Parked, "source" | "sourceId">[],
  orders: ReadonlyMap<string, HoldingEvents>,
): Map<string, HeldBehind> {
  const sourceIds = new Map(aggregates.map(({ source, sourceId }) => [source, sourceId]));
  const found = new Map<string, HeldBehind>();
  for (const event of pending) {
    const sourceId = sourceIds.get(event.source);
    const order = sourceId === undefined ? undefined : orders.get(aggregateKeyOf({ ...event, sourceId })!);
    const held = order && heldBehindOf({ ...event, sourceId: sourceId! }, order);
    if (held) found.set(event.id, held);
  }
  return found;
}

/** null = nothing holds the event, or it is not waiting. */
export function heldBehindOf(
  event: Omit<Facts, "source" | "version"> & { sourceId: string; version: Facts["version"] | bigint },
  order: HoldingEvents,
): HeldBehind | null {
  if (event.status !== "PENDING") return null;
  const holder = holderOf({ ...event, version: event.version === null ? null : BigInt(event.version) }, order);
  if (holder === null) return null;
  const { id, eventId, version } = holder;
  return { id, eventId, version: version === null ? null : versionOut(version.toString()) };
}
