import { type AggregateName, aggregateKey, NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import { HOLDS, SKIPPED } from "@/lib/order/order.sql";
import { type Earlier, HEADS_MAX, type Head, isSuperseded } from "@/lib/order/order-gate.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { EVENT, HOLDING, ITEM } from "@/lib/redrive/states/state.sql";

/** The order of an aggregate in SQL. A whole aggregate is `(source_id, aggregate_type, aggregate_id)` of the alias given. */

/** `event` (dlq_events, whose type may be null) belongs to the aggregate of `name`. */
export function sameAggregate(event: string, name: string): string {
  return `${event}.aggregate_id = ${name}.aggregate_id and ${event}.source_id = ${name}.source_id
    and coalesce(${event}.aggregate_type, '') = ${name}.aggregate_type`;
}

/** `e` is a version that its consumer has processed. Delivered is not enough. */
export const PROCESSED = `e.status = ${EVENT.REDRIVEN} and e.confirmed_at is not null and e.version is not null`;

/**
 * The newest version of `name` that its consumer has processed: reported or confirmed. The aliases in this SQL must
 * differ from the caller's `name`: with the same alias it would compare the aggregate with itself and take the versions
 * of all others.
 */
export function versionProcessed(name: string): string {
  return `greatest(
    (select max(word.version) from processed_events word
      where word.aggregate_id = ${name}.aggregate_id and word.source_id = ${name}.source_id
        and word.aggregate_type = ${name}.aggregate_type),
    (select e.version from dlq_events e
      where ${sameAggregate("e", name)} and ${PROCESSED}
      order by e.version desc limit 1))`;
}

/**
 * Whether a parked event `e` holds its aggregate in this redrive, `i` being its item there. An event that a verify run
 * has passed does not hold. In a redrive with `pass` only an event that failed or came back in this redrive holds.
 */
function counts(earlier: Earlier): string {
  return earlier === "pass"
    ? `i.state in (${ITEM.failed}, ${ITEM.delivered})`
    : `i.state is distinct from ${ITEM.passed}`;
}

/** Aggregates of one batch whose confirmed events are looked up, a look-up in each day's partition. */
const LOOKED_UP_MAX = 200;

/**
 * The newest processed version of each aggregate of a batch of arrivals, by `aggregateKey`; only versions above `above`,
 * which is the oldest one that arrived. It reads the reports of consumers, and the confirmed events of at most
 * LOOKED_UP_MAX aggregates that were redriven before: a batch must not wait for more. An event that is missed here is
 * refused by the dry run.
 */
export async function readProcessedAbove(
  db: Queryable,
  aggregates: readonly (AggregateName & { above: bigint })[],
): Promise<Map<string, bigint>> {
  if (aggregates.length === 0) return new Map();
  const rows = await db.query<AggregateName & { version: string }>(
    `with wanted as materialized (
       select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
         as w(source_id, aggregate_type, aggregate_id, above)
     ), redriven as materialized (
       select w.* from wanted w
         join aggregates a on a.aggregate_id = w.aggregate_id and a.source_id = w.source_id
                          and a.aggregate_type = w.aggregate_type
        limit ${LOOKED_UP_MAX}
     )
     select source_id as "sourceId", aggregate_type as "aggregateType", aggregate_id as "aggregateId",
            max(version)::text as version
       from (
         select w.*, p.version from wanted w cross join lateral (
           select p.version from processed_events p
            where p.aggregate_id = w.aggregate_id and p.source_id = w.source_id
              and p.aggregate_type = w.aggregate_type and p.version > w.above
            order by p.version desc limit 1) p
         union all
         select w.*, e.version from redriven w cross join lateral (
           select e.version from dlq_events e
            where ${sameAggregate("e", "w")} and ${PROCESSED} and e.version > w.above
            order by e.version desc limit 1) e) newer
      group by source_id, aggregate_type, aggregate_id`,
    [
      aggregates.map(({ sourceId }) => sourceId),
      aggregates.map(({ aggregateType }) => aggregateType ?? NO_AGGREGATE_TYPE),
      aggregates.map(({ aggregateId }) => aggregateId),
      aggregates.map(({ above }) => above.toString()),
    ],
    { name: "processed-above" },
  );
  return new Map(rows.map((row) => [aggregateKey(row), BigInt(row.version)]));
}

export type AggregateOrder = {
  versionProcessed: bigint | null;
  /** The first parked versions in their order, the head first; at most HEADS_MAX. */
  heads: Head[];
  /** Parked events that cool down after a failure, in the order in which they were parked. */
  cooling: { id: string; eventId: string; version: bigint | null }[];
  /** The first open item of another redrive; null = none. */
  queued: { id: string; version: bigint | null } | null;
};

export type StoredHead = Omit<Head, "version"> & { version: string };

export const headsOut = (heads: readonly StoredHead[] | null): Head[] =>
  (heads ?? []).map((head) => ({ ...head, version: BigInt(head.version) }));

/** SQL: the heads of the rows `h` as JSON, in their order. */
export const HEADS_JSON = `jsonb_agg(jsonb_build_object('id', h.id, 'eventId', h.event_id, 'version', h.version::text, 'status', h.status)
                   order by h.version, h.id)`;

/** SQL: the rows `h` that cool down, as JSON. */
const COOLING_JSON =
  "jsonb_agg(jsonb_build_object('id', h.id, 'eventId', h.event_id, 'version', h.version::text) order by h.id)";

type OrderRow = {
  sourceId: string;
  aggregateType: string;
  aggregateId: string;
  processed: string | null;
  heads: StoredHead[] | null;
  cooling: { id: string; eventId: string; version: string | null }[] | null;
  queued: { id: string; version: string | null } | null;
};

/** SQL: the first open item of another redrive than $4 in the aggregate `w`, as `q.queued`. */
const QUEUED = `left join lateral (
         select jsonb_build_object('id', o.id, 'version', o.version::text) as queued
           from redrive_items o
          where ${sameAggregate("o", "w")} and o.state = ${ITEM.open} and o.redrive_id is distinct from $4
          order by coalesce(o.version, 9223372036854775807), o.id limit 1
       ) q on true`;

/** Parked, or processed, events that are read at once. An aggregate may have any number of them. */
const AT_ONCE_MAX = 5_000;

const OF_EVENT =
  "e.id, e.event_id, e.source_id, coalesce(e.aggregate_type, '') as aggregate_type, e.aggregate_id, e.version, e.status";

/**
 * The events of all wanted aggregates that their order depends on, in one pass over the days: each day's index is opened once,
 * not once for each aggregate. Rows of `facts` are parked events, and versions that were processed. No rows when there are more
 * events than are read.
 */
const ORDER_AT_ONCE = (earlier: Earlier) => `
with wanted as materialized (
  select distinct * from unnest($1::uuid[], $2::text[], $3::text[]) as w(source_id, aggregate_type, aggregate_id)
), parked as materialized (
  select ${OF_EVENT}, e.revision, e.bounces, e.cooldown_until
    from dlq_events e where e.aggregate_id = any($3::text[]) and e.status in ${HOLDING} limit ${AT_ONCE_MAX}
), done as materialized (
  select ${OF_EVENT} from dlq_events e where e.aggregate_id = any($3::text[]) and ${PROCESSED} limit ${AT_ONCE_MAX}
), facts as (
  select e.id, e.event_id, e.source_id, e.aggregate_type, e.aggregate_id, e.version, e.status, true as holds,
         e.status = ${EVENT.PENDING} and e.cooldown_until > now() as cools
    from parked e
    left join lateral (select o.state from redrive_items o where o.id = e.id and o.redrive_id = $4 offset 0) i on true
   where not ${SKIPPED} and ${counts(earlier)}
  union all
  select id, event_id, source_id, aggregate_type, aggregate_id, version, status, false, false from done
  union all
  select null, null, w.source_id, w.aggregate_type, w.aggregate_id, word.version, null, false, false
    from wanted w cross join lateral (
      select max(p.version) as version from processed_events p
       where p.aggregate_id = w.aggregate_id and p.source_id = w.source_id and p.aggregate_type = w.aggregate_type) word
), judged as (
  select *, max(version) filter (where not holds) over (partition by aggregate_id, source_id, aggregate_type) as processed
    from facts
), placed as (
  select *, row_number() over (partition by aggregate_id, source_id, aggregate_type, is_head order by version, id) as place
    from (select *, coalesce(holds and version is not null and (processed is null or version > processed), false) as is_head
            from judged) j
), orders as (
  select h.source_id, h.aggregate_type, h.aggregate_id, h.processed,
         ${HEADS_JSON} filter (where h.is_head and h.place <= ${HEADS_MAX}) as heads,
         ${COOLING_JSON} filter (where h.cools) as cooling
    from placed h group by h.source_id, h.aggregate_type, h.aggregate_id, h.processed
)
select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
       o.processed::text, o.heads, o.cooling, q.queued
  from wanted w
  join orders o on o.aggregate_id = w.aggregate_id and o.source_id = w.source_id and o.aggregate_type = w.aggregate_type
  ${QUEUED}
 where (select count(*) from parked) < ${AT_ONCE_MAX} and (select count(*) from done) < ${AT_ONCE_MAX}`;

/** The same aggregate by aggregate, in the order of an index: for aggregates with any number of events. */
const ORDER_ONE_BY_ONE = (earlier: Earlier) => `
     select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
            d.processed::text, o.heads, c.cooling, q.queued
       from (select distinct * from unnest($1::uuid[], $2::text[], $3::text[])
               as w(source_id, aggregate_type, aggregate_id)) w
       cross join lateral (select ${versionProcessed("w")} as processed offset 0) d
       left join lateral (
         select ${HEADS_JSON} as heads from (
           select e.id, e.event_id, e.version, e.status
             from dlq_events e left join redrive_items i on i.id = e.id and i.redrive_id = $4
            where ${sameAggregate("e", "w")} and ${HOLDS} and e.version is not null
              and (d.processed is null or e.version > d.processed) and ${counts(earlier)}
            order by e.version, e.id limit ${HEADS_MAX}) h
       ) o on true
       left join lateral (
         select ${COOLING_JSON} as cooling from (
           select e.id, e.event_id, e.version
             from dlq_events e left join redrive_items i on i.id = e.id and i.redrive_id = $4
            where ${sameAggregate("e", "w")} and e.status = ${EVENT.PENDING} and e.cooldown_until > now() and not ${SKIPPED}
              and ${counts(earlier)}) h
       ) c on true
       ${QUEUED}`;

type OrderOf = { id: string; earlier: Earlier } | null;

/** The order of aggregates, see `readAggregateOrder`; null = they have more parked or processed events than are read at once. */
export async function readOrderAtOnce(
  db: Queryable,
  aggregates: readonly AggregateName[],
  redrive: OrderOf,
): Promise<Map<string, AggregateOrder> | null> {
  if (aggregates.length === 0) return new Map();
  const orders = await readOrder(db, aggregates, redrive, { name: "at-once", text: ORDER_AT_ONCE });
  return orders.size === 0 ? null : orders;
}

/** The order of aggregates with any number of events, see `readAggregateOrder`. */
export function readOrderOneByOne(
  db: Queryable,
  aggregates: readonly AggregateName[],
  redrive: OrderOf,
): Promise<Map<string, AggregateOrder>> {
  return readOrder(db, aggregates, redrive, { name: "one-by-one", text: ORDER_ONE_BY_ONE });
}

/**
 * The events that hold each aggregate now, by `aggregateKey`, for one redrive. `redrive` null: for a redrive that has
 * sent nothing yet and takes no earlier versions along.
 */
export async function readAggregateOrder(
  db: Queryable,
  aggregates: readonly AggregateName[],
  redrive: OrderOf,
): Promise<Map<string, AggregateOrder>> {
  return (await readOrderAtOnce(db, aggregates, redrive)) ?? readOrderOneByOne(db, aggregates, redrive);
}

async function readOrder(
  db: Queryable,
  aggregates: readonly AggregateName[],
  redrive: OrderOf,
  statement: { name: string; text: (earlier: Earlier) => string },
): Promise<Map<string, AggregateOrder>> {
  // Taking earlier versions along changes what is selected, not what holds.
  const earlier = redrive?.earlier === "pass" ? "pass" : "hold";
  const rows = await db.query<OrderRow>(
    statement.text(earlier),
    [
      aggregates.map((aggregate) => aggregate.sourceId),
      aggregates.map((aggregate) => aggregate.aggregateType ?? NO_AGGREGATE_TYPE),
      aggregates.map((aggregate) => aggregate.aggregateId),
      redrive?.id ?? null,
    ],
    { name: `aggregate-order-${statement.name}-${earlier}` },
  );
  return new Map(rows.map((row) => [aggregateKey(row), orderOf(row)]));
}

function orderOf({ processed, heads, cooling, queued }: OrderRow): AggregateOrder {
  const versionProcessed = processed === null ? null : BigInt(processed);
  const versioned = (cooling ?? []).map((event) => ({
    ...event,
    version: event.version === null ? null : BigInt(event.version),
  }));
  return {
    queued: queued && { ...queued, version: queued.version === null ? null : BigInt(queued.version) },
    versionProcessed,
    heads: headsOut(heads),
    cooling: versioned.filter((event) => !isSuperseded(event, versionProcessed)),
  };
}
