import { aggregateColumns } from "@/lib/order/aggregate.pure";
import { PROCESSED } from "@/lib/order/aggregate-order.read";
import { lowerConfirmed } from "@/lib/order/confirmed-versions.write";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Db, Tx } from "@/lib/platform/database/db";

/** The most aggregates of one statement. */
const PAGE = 5_000;
/** A failure this long ago no longer belongs to a run of failures. */
const FAILED_DAYS = 400;

/**
 * SQL: the row of the aggregate `a` says nothing but, perhaps, its confirmed version. A raised row has a lease that ended
 * a day before, so a lease that ended two days ago was set at least a day ago: no transaction that set it is still running.
 */
const IDLE = `(a.lease_until is null or a.lease_until < now() - interval '2 days')
  and case when a.failed_at is null then a.consecutive_failures = 0 else a.failed_at < now() - interval '${FAILED_DAYS} days' end`;

/** Where the next round begins; null = at the first aggregate. */
export type AggregateCursor = { aggregateId: string; sourceId: string; aggregateType: string } | null;

/**
 * Removes the rows of idle aggregates among the next ones, and mends confirmed versions whose event is confirmed no longer. Failures and
 * confirmations make rows, and most aggregates never return. A confirmed version stays as long as its event is stored. Then the archive
 * reports it, or it is forgotten: see `reportArchivedVersions` and `forgetEvents`.
 */
export async function removeIdleAggregates(db: Db, after: AggregateCursor): Promise<AggregateCursor> {
  return db.transaction(async (tx) => {
    // Rows are looked up by key: the planner would scan a small table instead.
    await tx.run("set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off");
    const page = await readNext(tx, after);
    await removeIdle(
      tx,
      page.filter(({ idle }) => idle),
    );
    await lowerConfirmed(
      tx,
      page.filter(({ unconfirmed }) => unconfirmed),
    );
    return page.at(-1) ?? null;
  });
}

type AggregateRow = NonNullable<AggregateCursor> & {
  confirmedEvent: string | null;
  idle: boolean;
  /** The event of its confirmed version is stored, and confirmed no longer. */
  unconfirmed: boolean;
};

function readNext(tx: Tx, after: AggregateCursor): Promise<AggregateRow[]> {
  return tx.query<AggregateRow>(
    `with page as materialized (
       select a.aggregate_id, a.source_id, a.aggregate_type, a.confirmed_event, ${IDLE} as idle from aggregates a
        where (a.aggregate_id, a.source_id, a.aggregate_type) > ($1::text, $2::uuid, $3::text)
        order by a.aggregate_id, a.source_id, a.aggregate_type limit ${PAGE}
     )
     select p.aggregate_id as "aggregateId", p.source_id as "sourceId", p.aggregate_type as "aggregateType",
            p.confirmed_event as "confirmedEvent", p.idle and e.processed is null as idle, e.processed is false as unconfirmed
       from page p left join lateral (
         select ${PROCESSED} as processed from dlq_events e where e.id = p.confirmed_event offset 0) e on true
      order by p.aggregate_id, p.source_id, p.aggregate_type`,
    [after?.aggregateId ?? "", after?.sourceId ?? "00000000-0000-0000-0000-000000000000", after?.aggregateType ?? ""],
    { name: "next-aggregates" },
  );
}

/** The rows are locked by id, source and type. One that has changed since it was read stays. */
async function removeIdle(tx: Tx, rows: readonly AggregateRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(
    `with idle as materialized (
       select a.aggregate_id, a.source_id, a.aggregate_type
         from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as r(source_id, aggregate_type, aggregate_id, confirmed_event)
         join aggregates a using (aggregate_id, source_id, aggregate_type)
        where ${IDLE} and a.confirmed_event is not distinct from r.confirmed_event
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     )
     delete from aggregates a using idle i
      where a.aggregate_id = i.aggregate_id and a.source_id = i.source_id and a.aggregate_type = i.aggregate_type`,
    [...aggregateColumns(rows), ...columnsOf(rows, "confirmedEvent")],
    { name: "remove-idle-aggregates" },
  );
}
