import type { EventOut, HeldBehind } from "@/lib/events/events.shapes";
import { aggregateKeyOf, NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import { type AggregateOrder, readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { HOLDS } from "@/lib/order/skip.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { holderOf } from "@/lib/redrive/gate/dry-run-facts.read";
import { versionOut } from "@/lib/redrive/preview/earlier-summary.read";

type Facts = Pick<EventOut, "id" | "source" | "status" | "aggregateType" | "aggregateId" | "version">;

/** Parked events of the aggregates of a page that are read before their order is read within a time limit. */
const PARKED_MAX = 5_000;

/**
 * What holds each of these events behind it, by the rule of the gate; those that nothing holds are left out. Nothing that is
 * stored says so: it costs an index read a day's partition for all events together, and the order of the few aggregates
 * with a second parked event. `inTime` bounds the reads where these aggregates have PARKED_MAX parked events or more; null =
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
    `select e.source_id as "sourceId", e.source, e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId",
            count(*) as n
       from (select e.source_id, s.name as source, coalesce(e.aggregate_type, '') as aggregate_type, e.aggregate_id
               from dlq_events e join sources s on s.id = e.source_id
              where e.aggregate_id = any($1::text[]) and ${HOLDS} limit ${PARKED_MAX}) e
      group by 1, 2, 3, 4`,
    [ids],
    { name: "parked-of-aggregates" },
  );
  const shared = parked.filter(({ n }) => n > 1);
  if (parked.reduce((sum, { n }) => sum + n, 0) < PARKED_MAX) {
    return shared.length === 0 ? new Map() : heldIn(pending, shared, await readAggregateOrder(db, shared, null));
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
type Parked = { sourceId: string; source: string; aggregateType: string; aggregateId: string; n: number };

function heldIn(
  pending: readonly Facts[],
  aggregates: readonly Pick<Parked, "source" | "sourceId">[],
  orders: ReadonlyMap<string, AggregateOrder>,
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
  order: AggregateOrder,
): HeldBehind | null {
  if (event.status !== "PENDING") return null;
  const holder = holderOf({ ...event, version: event.version === null ? null : BigInt(event.version) }, order);
  if (holder === null) return null;
  const { id, eventId, version } = holder;
  return { id, eventId, version: version === null ? null : versionOut(version.toString()) };
}
