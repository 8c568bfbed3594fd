import { PROCESSED, sameAggregate } from "@/lib/order/aggregate-order.read";
import type { Db, Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";

/** The most aggregates of one statement. */
const PAGE = 5_000;
/** A failure this long ago no longer belongs to a run of failures. */
const FAILED_DAYS = 400;

/**
 * SQL: removing the row of the aggregate `a` changes nothing. A returned lease ends a day in the past, so a lease that ended two days ago
 * was returned or lost at least a day ago: no claim that read it can still be running. While a processed version is stored the row stays,
 * because arrivals of older versions are marked by it, see `readProcessedAbove`.
 */
const IDLE = `(a.lease_until is null or a.lease_until < now() - interval '2 days')
  and case when a.failed_at is null then a.consecutive_failures = 0 else a.failed_at < now() - interval '${FAILED_DAYS} days' end
  and not exists (select from dlq_events e where ${sameAggregate("e", "a")} and ${PROCESSED})`;

/** Where the next round begins; null = at the first aggregate. */
export type AggregateCursor = { aggregateId: string; sourceId: string; aggregateType: string } | null;

/**
 * Removes the rows of idle aggregates among the next ones. Each claim of an aggregate makes a row, and most aggregates never
 * return. The rows are locked in the order in which claims lock them.
 */
export async function removeIdleAggregates(db: Db, after: AggregateCursor): Promise<AggregateCursor> {
  return db.transaction(async (tx) => {
    // Rows are looked up by key: the planner would scan a small table instead.
    await tx.run("set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off");
    return removeAmongNext(tx, after);
  });
}

async function removeAmongNext(tx: Tx, after: AggregateCursor): Promise<AggregateCursor> {
  const [last] = await tx.query<NonNullable<AggregateCursor>>(
    `with page as materialized (
       select a.aggregate_id, a.source_id, a.aggregate_type from aggregates a
        where (a.aggregate_id, a.source_id, a.aggregate_type) > ($1::text, $2::uuid, $3::text)
        order by a.aggregate_id, a.source_id, a.aggregate_type limit ${PAGE}
     ), idle as materialized (
       select a.aggregate_id, a.source_id, a.aggregate_type
         from page p join aggregates a using (aggregate_id, source_id, aggregate_type)
        where ${IDLE}
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     ), removed as (
       delete from aggregates a using idle i
        where a.aggregate_id = i.aggregate_id and a.source_id = i.source_id and a.aggregate_type = i.aggregate_type
     )
     select aggregate_id as "aggregateId", source_id as "sourceId", aggregate_type as "aggregateType" from page
      order by aggregate_id desc, source_id desc, aggregate_type desc limit 1`,
    [after?.aggregateId ?? "", after?.sourceId ?? "00000000-0000-0000-0000-000000000000", after?.aggregateType ?? ""],
    { name: "idle-aggregates" },
  );
  return last ?? null;
}

/**
 * Gives the aggregates of those of these events that are processed versions a row, unless they have one that will stay: an event may be
 * confirmed, or restored, when the row that its send made is gone, or without any send. As after a claim, the lease ended yesterday: a
 * removal that does not see these events yet waits for the row, and then sees that lease.
 */
export async function keepAggregatesOf(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `insert into aggregates (source_id, aggregate_type, aggregate_id, lease_until)
     select distinct e.source_id, coalesce(e.aggregate_type, ''), e.aggregate_id, now() - interval '1 day'
       from dlq_events e
      where e.id = any($1::uuid[]) and e.id between $2 and $3 and ${PROCESSED} and e.aggregate_id is not null
        and not exists (select from aggregates a where ${sameAggregate("e", "a")} and a.lease_until > now() - interval '36 hours')
      order by e.aggregate_id, e.source_id, coalesce(e.aggregate_type, '')
     on conflict (aggregate_id, source_id, aggregate_type) do update
        set lease_until = greatest(aggregates.lease_until, excluded.lease_until)`,
    [ids, ...idSpan(ids)],
    { name: "keep-aggregates" },
  );
}
