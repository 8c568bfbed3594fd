import { NO_AGGREGATE_TYPE, versionOut } from "@/lib/order/aggregate.pure";
import { type HoldingEvents, holderOf } from "@/lib/order/held-by.pure";
import { LAST_PLACE } from "@/lib/order/line.sql";
import { heldBy, inLongLines } from "@/lib/order/tails/held.sql";
import type { HeldBehind } from "@/lib/order/tails/tails.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import type { EventStatus } from "@/lib/states/event-state.pure";

type Facts = {
  id: string;
  source: string;
  status: EventStatus;
  aggregateType: string | null;
  aggregateId: string | null;
  version: number | string | null;
};

/** A look-up for each event. */
const HELD_BEHIND = `
select w.id, h.id as "holder", h.event_id as "eventId", nullif(h.place, ${LAST_PLACE}) as version
  from (select e.*, s.id as source_id
          from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[]) as e(id, source, aggregate_type, aggregate_id, place)
          join sources s on s.name = e.source) w
  ${heldBy("now()")}
 cross join lateral (select coalesce(head.id, cooling.id) as id, coalesce(head.place, cooling.place) as place,
                            coalesce(head.event_id, cooling.event_id) as event_id) h
 where h.id is not null`;

/** What holds each of these events behind it, by the rule of the gate; those that nothing holds are left out. */
export async function readHeldBehind(db: Queryable, events: readonly Facts[]): Promise<Map<string, HeldBehind>> {
  const pending = events.filter(({ status, aggregateId }) => status === "PENDING" && aggregateId !== null);
  if (pending.length === 0) return new Map();
  const values = [
    pending.map(({ id }) => id),
    pending.map(({ source }) => source),
    pending.map(({ aggregateType }) => aggregateType ?? NO_AGGREGATE_TYPE),
    pending.map(({ aggregateId }) => aggregateId),
    pending.map(({ version }) => (version ?? LAST_PLACE).toString()),
  ];
  const rows = await db.query<HeldBehind & { holder: string }>(HELD_BEHIND, values, { name: "held-behind" });
  return new Map(rows.map(({ id, holder, eventId, version }) => [id, { id: holder, eventId, version }]));
}

/** More events in lines of several than this are not looked up one by one. */
const IN_LONG_LINES_MAX = 5_000;

/** Ids among which all held events are; null = too many. It reads the lines until it has found as many. */
export async function readInLongLines(db: Queryable): Promise<string[] | null> {
  const limit = [IN_LONG_LINES_MAX + 1];
  const rows = await db.query<{ id: string }>(inLongLines("$1::int"), limit, { name: "in-long-lines" });
  return rows.length > IN_LONG_LINES_MAX ? null : rows.map(({ id }) => id);
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
