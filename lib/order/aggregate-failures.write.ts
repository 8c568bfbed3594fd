import { type AggregateName, aggregateColumns } from "@/lib/order/aggregate.pure";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import { lastRedrives } from "@/lib/redrive/run/store/finish-items.write";

export type FailedAggregate = AggregateName & { failures: number };

/** The redrives of an aggregate's bounces, and how many bounces name none. */
export type BouncedAggregate = AggregateName & { redriveIds: readonly string[]; unknown: number };

/** SQL: of the redrives of a bounce those that the run does not count yet. */
const NEW = "array(select r from unnest(excluded.failed_redrives) r where r <> all(a.failed_redrives))";

/**
 * Adds bounces to the consecutive failures of their aggregates, each redrive once. Returns the aggregates with `limit`
 * or more consecutive failures. Rows are locked by aggregate id, source and type, as every transaction locks
 * them: those with common aggregates cannot deadlock.
 */
export async function countAggregateFailures(
  tx: Tx,
  bounced: readonly BouncedAggregate[],
  limit: number,
): Promise<FailedAggregate[]> {
  if (bounced.length === 0) return [];
  const rows = await tx.query<FailedAggregate>(
    `insert into aggregates as a (source_id, aggregate_type, aggregate_id, consecutive_failures, failed_redrives, failed_at)
     select source_id, aggregate_type, aggregate_id, cardinality(redrives) + unknown, redrives, now()
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[])
              as w(source_id, aggregate_type, aggregate_id, list, unknown),
            lateral (select string_to_array(list, ',')::uuid[] as redrives) named
      order by aggregate_id, source_id, aggregate_type
     on conflict (aggregate_id, source_id, aggregate_type) do update
        set consecutive_failures = least(a.consecutive_failures::bigint + cardinality(${NEW})
                  + excluded.consecutive_failures - cardinality(excluded.failed_redrives), ${INT4_MAX}),
            failed_redrives = ${lastRedrives(`a.failed_redrives || ${NEW}`)},
            failed_at = excluded.failed_at
     returning source_id as "sourceId", aggregate_type as "aggregateType", aggregate_id as "aggregateId",
               consecutive_failures as failures`,
    [
      ...aggregateColumns(bounced),
      bounced.map(({ redriveIds }) => redriveIds.join(",")),
      bounced.map(({ unknown }) => unknown),
    ],
    { name: "count-aggregate-failures" },
  );
  return rows.filter(({ failures }) => failures >= limit);
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
