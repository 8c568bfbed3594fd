import { type AggregateName, aggregateColumns } from "@/lib/order/aggregate.pure";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";

export type FailedAggregate = AggregateName & { failures: number };

/** The redrives of an aggregate that failed or bounced, and how many bounces name none. */
export type BouncedAggregate = AggregateName & { redriveIds: readonly string[]; unknown: number };

/** Redrives remembered as counted in an aggregate's run of failures: more than any limit of failures. */
const COUNTED_REDRIVES_MAX = 100;

/**
 * Adds failures to the consecutive failures of their aggregates, each redrive once. `reset`: a consumer had processed an event of the
 * aggregate before them, so the count starts again at 0. Returns the aggregates that have failed, with `limit` or more consecutive
 * failures. Rows are locked by aggregate id, source and type, as every transaction locks them: those with common aggregates cannot deadlock.
 */
export async function countAggregateFailures(
  tx: Tx,
  failed: readonly (BouncedAggregate & { reset?: boolean })[],
  limit: number,
): Promise<FailedAggregate[]> {
  if (failed.length === 0) return [];
  const names = aggregateColumns(failed);
  await tx.run(
    `insert into aggregates (source_id, aggregate_type, aggregate_id)
     select * from unnest($1::uuid[], $2::text[], $3::text[]) as w(source_id, aggregate_type, aggregate_id)
      order by aggregate_id, source_id, aggregate_type
     on conflict (aggregate_id, source_id, aggregate_type) do nothing`,
    names,
    { name: "add-aggregates" },
  );
  const rows = await tx.query<FailedAggregate & { failed: boolean }>(
    `with locked as materialized (
       select w.*, a.failures, a.known
         from (select source_id, aggregate_type, aggregate_id, reset, string_to_array(list, ',')::uuid[] as redrives, unknown
                 from unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::int[])
                   as w(source_id, aggregate_type, aggregate_id, reset, list, unknown)
                order by aggregate_id, source_id, aggregate_type) w
        cross join lateral (
           select case when w.reset then 0 else a.consecutive_failures end as failures,
                  case when w.reset then '{}' else a.failed_redrives end as known
             from aggregates a
            where a.aggregate_id = w.aggregate_id and a.source_id = w.source_id and a.aggregate_type = w.aggregate_type
              for update of a) a
     ), counted as (
       select l.*, array(select r from unnest(l.redrives) r where r <> all(l.known)) as added,
              cardinality(l.redrives) + l.unknown > 0 as failed
         from locked l
     )
     update aggregates a
        set consecutive_failures = least(c.failures::bigint + cardinality(c.added) + c.unknown, ${INT4_MAX}),
            failed_redrives = (c.known || c.added)[greatest(1, cardinality(c.known || c.added) - ${COUNTED_REDRIVES_MAX - 1}):],
            failed_at = case when c.failed then now() else a.failed_at end
       from counted c
      where a.source_id = c.source_id and a.aggregate_id = c.aggregate_id and a.aggregate_type = c.aggregate_type
     returning a.source_id as "sourceId", a.aggregate_type as "aggregateType", a.aggregate_id as "aggregateId",
               a.consecutive_failures as failures, c.failed`,
    [
      ...names,
      failed.map(({ reset = false }) => reset),
      failed.map(({ redriveIds }) => redriveIds.join(",")),
      failed.map(({ unknown }) => unknown),
    ],
    { name: "count-aggregate-failures" },
  );
  return rows.flatMap(({ failed, ...aggregate }) => (failed && aggregate.failures >= limit ? [aggregate] : []));
}

/**
 * Resets the consecutive failures of the aggregates of events that were confirmed. `byConsumer`: the consumer has just
 * reported the events as processed. An event that only stayed quiet resets the failures before its delivery, not the
 * failures since.
 */
export async function endAggregateFailures(tx: Tx, ids: readonly string[], byConsumer: boolean): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `with locked as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id
         from aggregates a
         join (select source_id, coalesce(aggregate_type, '') as aggregate_type, aggregate_id, max(redrive_at) as redrive_at
                 from dlq_events where id = any($1::uuid[]) and aggregate_id is not null group by 1, 2, 3) e
           on a.aggregate_id = e.aggregate_id and a.source_id = e.source_id and a.aggregate_type = e.aggregate_type
        where a.consecutive_failures > 0 and ($2 or a.failed_at is null or a.failed_at < e.redrive_at)
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     )
     update aggregates a set consecutive_failures = 0, failed_redrives = '{}'
       from locked l
      where a.source_id = l.source_id and a.aggregate_id = l.aggregate_id and a.aggregate_type = l.aggregate_type`,
    [ids, byConsumer],
    { name: "end-aggregate-failures" },
  );
}
