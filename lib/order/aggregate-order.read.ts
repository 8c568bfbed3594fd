import { type AggregateName, aggregateColumns, aggregateKey } from "@/lib/order/aggregate.pure";
import type { HoldingEvents } from "@/lib/order/held-by.pure";
import { inLine, LAST_PLACE, processedOf } from "@/lib/order/line.sql";
import { type Earlier, HEADS_MAX, type Head } from "@/lib/order/order-gate.pure";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { EVENT, ITEM } from "@/lib/states/state.sql";

export { processedOf } from "@/lib/order/line.sql";

/** The order of an aggregate in SQL. A whole aggregate is `(source_id, aggregate_type, aggregate_id)` of the alias given. */

/** `event` (dlq_events, whose type may be null) belongs to the aggregate of `name`. */
export function sameAggregate(event: string, name: string): string {
  return `${event}.aggregate_id = ${name}.aggregate_id and ${event}.source_id = ${name}.source_id
    and coalesce(${event}.aggregate_type, '') = ${name}.aggregate_type`;
}

/** `e` is a version that its consumer has processed. Delivered is not enough. */
export const PROCESSED = `e.status = ${EVENT.REDRIVEN} and e.confirmed_at is not null and e.version is not null`;

/**
 * The newest processed version of each aggregate of a batch of arrivals, by `aggregateKey`; only versions above `above`,
 * which is the oldest one that arrived.
 */
export async function readProcessedAbove(
  db: Queryable,
  aggregates: readonly (AggregateName & { above: bigint })[],
): Promise<Map<string, bigint>> {
  if (aggregates.length === 0) return new Map();
  const rows = await db.query<AggregateName & { version: string }>(
    `select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
            d.processed::text as version
       from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[]) as w(source_id, aggregate_type, aggregate_id, above)
       ${processedOf("w")}
      where d.processed > w.above`,
    [...aggregateColumns(aggregates), ...columnsOf(aggregates, "above")],
    { name: "processed-above" },
  );
  return new Map(rows.map((row) => [aggregateKey(row), BigInt(row.version)]));
}

export type AggregateOrder = HoldingEvents & {
  versionProcessed: bigint | null;
  /** The first open item, of the redrive itself only beside those that are asked about; null = none. */
  queued: { id: string; version: bigint | null } | null;
};

export type StoredHead = Omit<Head, "version"> & { version: string };

export const headsOut = (heads: readonly StoredHead[] | null): Head[] =>
  (heads ?? []).map((head) => ({ ...head, version: BigInt(head.version) }));

/** SQL: the heads of the rows `h` as JSON, in their order. */
export const HEADS_JSON = `jsonb_agg(jsonb_build_object('id', h.id, 'eventId', h.event_id, 'version', h.version::text, 'status', h.status)
                   order by h.version, h.id)`;

type Row = { id: string; version: string | null };
type OrderRow = {
  sourceId: string;
  aggregateType: string;
  aggregateId: string;
  processed: string | null;
  heads: Row[] | null;
  cooling: Row | null;
  queued: Row | null;
};

const ROW = `jsonb_build_object('id', l.id, 'version', nullif(l.place, ${LAST_PLACE})::text)`;

/**
 * What holds each aggregate, from its line: each question reads rows in their order and ends at the first that counts. `$4` is the
 * redrive: what it sends itself is no other's, and what it has done with an event decides whether that counts. `$5`, `$6`: the last
 * place that is asked about, of a batch those of its last event.
 */
const ORDER = (item: string) => `
with wanted as materialized (
  select distinct on (aggregate_id, source_id, aggregate_type) *
    from unnest($1::uuid[], $2::text[], $3::text[], $5::bigint[], $6::uuid[]) as w(source_id, aggregate_type, aggregate_id, place, id)
   order by aggregate_id, source_id, aggregate_type, place desc, id desc
)
select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
       d.processed::text, h.heads, c.cooling, q.queued
  from wanted w
  ${processedOf("w")}
  left join lateral (
    select jsonb_agg(${ROW} order by l.place, l.id) as heads from (
      select l.place, l.id from aggregate_lines l
       where ${inLine("l", "w", "parked")} and l.place >= d.first and l.place < ${LAST_PLACE} and ${item}
       order by l.place, l.id limit ${HEADS_MAX}) l) h on true
  left join lateral (
    select ${ROW} as cooling from aggregate_lines l
     where ${inLine("l", "w", "parked")} and l.place >= d.first and (l.place, l.id) <= (w.place, w.id)
       and l.cooldown_until > now() and ${item}
     order by l.place, l.id limit 1) c on true
  left join lateral (
    select ${ROW} as queued from aggregate_lines l
     where ${inLine("l", "w", "open")} and (l.place, l.id) <= (w.place, w.id) and (l.redrive_id is distinct from $4::uuid or l.id <> all($6::uuid[]))
     order by l.place, l.id limit 1) q on true`;

/** SQL: the item of the row `l` in the redrive is in one of these states. */
const itemIn = (states: string) =>
  `exists (select from redrive_items i where i.id = l.id and i.redrive_id = $4 and i.state in (${states}))`;

const ANY_REDRIVE = { name: "order", text: ORDER("true") };
/** An event that a dry run has passed does not hold what comes behind it in the same run. */
const HOLDING = { name: "order-hold", text: ORDER(`not ${itemIn(ITEM.passed)}`) };
/** Only an event holds that failed or bounced in this redrive. */
const PASSING = { name: "order-pass", text: ORDER(itemIn(`${ITEM.failed}, ${ITEM.delivered}`)) };

type OrderOf = { id: string; earlier: Earlier } | null;

/** `version` and `id`: the last place of the aggregate that is asked about; left out = all of it. */
type WantedOrder = AggregateName & { id?: string; version?: bigint | number | string | null };

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A row without its event, which the next round of upkeep mends, must not be asked for without end. */
const HOLDERS_TRIES = 3;

/**
 * The events that hold each aggregate now, by `aggregateKey`, for one redrive. `redrive` null: for a redrive that has
 * sent nothing yet and takes no earlier versions along.
 */
export async function readAggregateOrder(
  db: Queryable,
  aggregates: readonly WantedOrder[],
  redrive: OrderOf,
  tries = HOLDERS_TRIES,
): Promise<Map<string, AggregateOrder>> {
  if (aggregates.length === 0) return new Map();
  const { name, text } = redrive === null ? ANY_REDRIVE : redrive.earlier === "pass" ? PASSING : HOLDING;
  const rows = await db.query<OrderRow>(
    text,
    [
      ...aggregateColumns(aggregates),
      redrive?.id ?? null,
      aggregates.map(({ version }) => (version ?? LAST_PLACE).toString()),
      aggregates.map(({ id = LAST_ID }) => id),
    ],
    { name },
  );
  const ids = rows.flatMap(({ heads, cooling }) =>
    [...(heads ?? []), ...(cooling ? [cooling] : [])].map(({ id }) => id),
  );
  const events = await readHolders(db, ids);
  // Others hold in place of those that have left between the two statements.
  if (tries > 1 && events.size < new Set(ids).size) return readAggregateOrder(db, aggregates, redrive, tries - 1);
  const versioned = ({ id, version }: Row) => ({ id, version: version === null ? null : BigInt(version) });
  // One that has left meanwhile holds nothing.
  const named = (row: Row) => {
    const event = events.get(row.id);
    return event ? [{ ...event, ...versioned(row) }] : [];
  };
  return new Map(
    rows.map((row) => [
      aggregateKey(row),
      {
        versionProcessed: row.processed === null ? null : BigInt(row.processed),
        heads: (row.heads ?? []).flatMap(named) as Head[],
        cooling: row.cooling ? named(row.cooling) : [],
        queued: row.queued && versioned(row.queued),
      },
    ]),
  );
}

type Holder = Pick<Head, "id" | "eventId" | "status">;

/** A statement of its own: it looks into the days of the holders, and into none where nothing holds. */
async function readHolders(db: Queryable, ids: readonly string[]): Promise<Map<string, Holder>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<Holder>(
    `select id, event_id as "eventId", status from dlq_events where id = any($1::uuid[]) and id between $2 and $3`,
    [ids, ...idSpan(ids)],
    { name: "holders" },
  );
  return new Map(rows.map((row) => [row.id, row]));
}
