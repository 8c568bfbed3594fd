import type { EventOut, HeldBehind } from "@/lib/events/events.shapes";
import { aggregateKeyOf, versionOut } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import type { Queryable } from "@/lib/platform/database/db";
import { type HoldingEvents, holderOf } from "@/lib/redrive/gate/dry-run-facts.read";

type Facts = Pick<EventOut, "id" | "source" | "status" | "aggregateType" | "aggregateId" | "version">;

type ReadInTime = <T>(read: (tx: Queryable) => Promise<T>) => Promise<T | null>;

/**
 * What holds each of these events behind it, by the rule of the gate; those that nothing holds are left out. `inTime` bounds the
 * read; null = its time was over, and then the answer is empty.
 */
export async function readHeldBehind(
  db: Queryable,
  events: readonly Facts[],
  inTime: ReadInTime = (read) => read(db),
): Promise<Map<string, HeldBehind>> {
  const pending = events.filter(({ status, aggregateId }) => status === "PENDING" && aggregateId !== null);
  if (pending.length === 0) return new Map();
  const sources = await db.query<{ id: string; name: string }>(
    "select id, name from sources where name = any($1::text[])",
    [[...new Set(pending.map(({ source }) => source))]],
    { name: "ids-of-sources" },
  );
  const idOf = new Map(sources.map(({ id, name }) => [name, id]));
  const named = pending.flatMap(({ aggregateId, ...event }) => {
    const sourceId = idOf.get(event.source);
    return sourceId === undefined || aggregateId === null ? [] : [{ ...event, sourceId, aggregateId }];
  });
  const orders = await inTime((tx) => readAggregateOrder(tx, named, null));
  return new Map(
    named.flatMap((event) => {
      const order = orders?.get(aggregateKeyOf(event)!);
      const held = order && heldBehindOf(event, order);
      return held ? [[event.id, held]] : [];
    }),
  );
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
