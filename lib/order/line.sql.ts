import { hash } from "node:crypto";
import { SKIPPED } from "@/lib/order/order.sql";
import { EVENT, HOLDING } from "@/lib/states/state.sql";

/** Rows that are parked and not skipped, open, or parked and skipped. A question about one part reads no row of another. */
export const PART = { parked: 0, open: 1, skipped: 2 } as const;

/** `place` of an event without a version. */
export const LAST_PLACE = 2n ** 63n - 1n;
const FIRST_PLACE = -(2n ** 63n);

/** The aggregates of a source spread over this many shards. */
const SHARDS = 64;

/** The same as `shardOf` in SQL. */
export function shardOfAggregate(sourceId: string, aggregateId: string): number {
  return hash("sha256", `${sourceId}:${aggregateId}`, "buffer")[0]! % SHARDS;
}

/** SQL: the shard of the aggregate of `row`. */
function shardOf(row: string): string {
  return `(get_byte(sha256(convert_to(${row}.source_id || ':' || ${row}.aggregate_id, 'UTF8')), 0) % ${SHARDS})`;
}

const ANY_PART = `any('{${Object.values(PART)}}'::int[])`;

/** SQL: the row `l` is in one of these parts of the line of the aggregate `name`, whose type is not null. */
export function inLine(l: string, name: string, ...parts: (keyof typeof PART)[]): string {
  const [first, ...others] = parts.map((part) => PART[part]);
  const among = others.length === 0 ? first : `any('{${[first, ...others]}}'::int[])`;
  return `${ofLine(l, name)} and ${l}.aggregate_type = ${name}.aggregate_type and ${l}.part = ${among}`;
}

/** SQL: the row `l` is in any part of the line of the event `e`, behind its version. */
export function behindInLine(l: string, e: string): string {
  return `${ofLine(l, e)} and ${l}.aggregate_type = coalesce(${e}.aggregate_type, '') and ${l}.part = ${ANY_PART}
    and ${l}.place > ${e}.version and ${l}.place < ${LAST_PLACE}`;
}

function ofLine(l: string, name: string): string {
  return `${l}.shard = ${shardOf(name)} and ${l}.aggregate_id = ${name}.aggregate_id and ${l}.source_id = ${name}.source_id`;
}

/** SQL: `ctid` of the rows of the events `e`, in any part. Each is looked up by its key, whatever the planner knows of the table. */
export function rowsOf(e: string): string {
  return `array(select l.ctid from ${e} e cross join lateral (
    select l.ctid from aggregate_lines l
     where ${ofLine("l", "e")} and l.aggregate_type = coalesce(e.aggregate_type, '') and l.part = ${ANY_PART}
       and l.place = coalesce(e.version, ${LAST_PLACE}) and l.id = e.id offset 0) l)`;
}

/** SQL: the first place of an aggregate above the processed version `d.processed`. */
const ABOVE_PROCESSED = `(case when d.processed is null then ${FIRST_PLACE}
    when d.processed = ${LAST_PLACE} then ${LAST_PLACE} else d.processed + 1 end)`;

/** The newest version of the aggregate `name` that its consumer has processed: reported, or confirmed. */
const processed = (name: string) => `greatest((select max(word.version) from processed_events word
      where word.aggregate_id = ${name}.aggregate_id and word.source_id = ${name}.source_id
        and word.aggregate_type = ${name}.aggregate_type),
    (select known.confirmed_version from aggregates known
      where known.aggregate_id = ${name}.aggregate_id and known.source_id = ${name}.source_id
        and known.aggregate_type = ${name}.aggregate_type))`;

/**
 * SQL: the newest processed version of the aggregate `name` as `d.processed`, and the first place above it as `d.first`. The aliases in
 * this SQL must differ from the caller's `name`: with the same alias it would compare the aggregate with itself.
 */
export function processedOf(name: string): string {
  return `cross join lateral (select d.processed, ${ABOVE_PROCESSED} as first
                   from (select ${processed(name)} as processed offset 0) d) d`;
}

export const LINE_COLUMNS =
  "shard, aggregate_id, source_id, aggregate_type, part, place, id, cooldown_until, redrive_id";

/** SQL: the rows of the lines as the events `e` that match `which` say them. `events`: what a statement has just made of them. */
export function linesOf(which: string, events = "dlq_events"): string {
  return `select ${shardOf("e")} as shard, e.aggregate_id, e.source_id, coalesce(e.aggregate_type, '') as aggregate_type, p.part,
       coalesce(e.version, ${LAST_PLACE}) as place, e.id, e.version,
       case when p.part = ${PART.parked} and e.status = ${EVENT.PENDING} then e.cooldown_until end as cooldown_until, o.redrive_id
  from ${events} e
  left join lateral (
    select i.redrive_id from open_items i where i.id = e.id and e.status = ${EVENT.QUEUED} offset 0) o on true
 cross join lateral (select case when e.status in ${HOLDING} then case when ${SKIPPED} then ${PART.skipped} else ${PART.parked} end
                                 when o.redrive_id is not null then ${PART.open} end as part) p
 where e.aggregate_id is not null and ${which}`;
}

/** SQL: `lines`, of `linesOf`, in place of the rows that their events had. */
export const LINES_FOLLOW = `, left_lines as (
  delete from aggregate_lines where ctid = any(${rowsOf("lines")}) returning 1
), new_lines as (
  insert into aggregate_lines (${LINE_COLUMNS})
  select ${LINE_COLUMNS} from lines where part is not null and (select count(*) from left_lines) is not null
)`;
