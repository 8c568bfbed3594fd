import type { EventOut, HeldBehind } from "@/lib/contract/events";
import { aggregateKeyOf } from "@/lib/core/aggregate";
import type { Queryable } from "@/lib/store/db";
import { type AggregateOrder, readAggregateOrder } from "@/lib/store/read/aggregate-order";
import { holderOf } from "@/lib/store/read/dry-run-facts";
import { versionOut } from "@/lib/store/read/earlier-summary";
import { HOLDS } from "@/lib/store/skip-sql";

type Facts = Pick<EventOut, "id" | "source" | "status" | "aggregateType" | "aggregateId" | "version">;

/**
 * What holds each of these events behind it, by the rule of the gate; those that nothing holds are left out. Nothing that is
 * stored says so: it costs an index read a day's partition for all events together, and the order of the few aggregates
 * with a second parked event.
 */
export async function readHeldBehind(db: Queryable, events: readonly Facts[]): Promise<Map<string, HeldBehind>> {
  const pending = events.filter(({ status, aggregateId }) => status === "PENDING" && aggregateId !== null);
  if (pending.length === 0) return new Map();
  const ids = [...new Set(pending.map(({ aggregateId }) => aggregateId!))];
  const shared = await db.query<{ sourceId: string; source: string; aggregateType: string; aggregateId: string }>(
    `select e.source_id as "sourceId", s.name as source, coalesce(e.aggregate_type, '') as "aggregateType",
            e.aggregate_id as "aggregateId"
       from dlq_events e join sources s on s.id = e.source_id
      where e.aggregate_id = any($1::text[]) and ${HOLDS}
      group by 1, 2, 3, 4 having count(*) > 1`,
    [ids],
    { name: "shared-aggregates" },
  );
  if (shared.length === 0) return new Map();
  const orders = await readAggregateOrder(db, shared, null);
  const sourceIds = new Map(shared.map(({ source, sourceId }) => [source, sourceId]));
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
