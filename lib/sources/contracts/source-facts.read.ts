import { PARKED_STATUSES } from "@/lib/events/event-state.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { SourceContract } from "@/lib/sources/contracts/source-contract.pure";

/** A source with its contract and the age and number of what it has parked. */
export type SourceContractRow = {
  name: string;
  contract: SourceContract | null;
  knownDays: number | null;
  parked: number;
  /** The end of the hour of its oldest parked event. null = nothing is parked. */
  oldestHourMs: number | null;
  /** Arrivals of the last hour. */
  arrived: number;
};

/** All sources: a path to a caller leads over sources without a contract, too. Of the others nothing is counted. */
export async function readSourceContracts(db: Queryable): Promise<SourceContractRow[]> {
  return db.query<SourceContractRow>(
    `select s.name, s.contract, s.known_days as "knownDays", coalesce(l.parked, 0)::bigint as parked, l.oldest as "oldestHourMs",
            coalesce(f.arrived, 0)::bigint as arrived
       from sources s
       left join (
         select source_id, sum(n) as parked, min(hour) filter (where n > 0) + interval '1 hour' as oldest
           from (select source_id, hour, sum(n) as n from dlq_source_level_ages where status = any($1::text[]) group by 1, 2) hours
          group by source_id
       ) l on l.source_id = s.id and s.contract is not null
       left join lateral (
         select sum(n) as arrived from (
           select parked + bounced + unstored as n from dlq_flow_minutes where source_id = s.id and at > now() - interval '1 hour'
           union all
           select n from dlq_flow
            where source_id = s.id and minute > now() - interval '1 hour' and kind in ('parked', 'bounced', 'unstored')) flow
       ) f on s.contract is not null
      order by s.name`,
    [PARKED_STATUSES],
    { name: "source-contracts" },
  );
}

/** Among so many of the newest events of all sources: read along the primary key, whatever the size of the store. */
const NEWEST = 2_000;

/**
 * The longest span of each source among the newest events: from the first arrival to the redrive, or by which a later version arrived
 * before an earlier one of its aggregate. Milliseconds by name; a source without such an event is absent.
 */
export async function readSpans(db: Queryable): Promise<Map<string, number>> {
  const rows = await db.query<{ name: string; ms: number | null }>(
    `with newest as materialized (
       select source_id, aggregate_type, aggregate_id, version, first_seen, redrive_at from dlq_events order by id desc limit ${NEWEST}),
     spans as (
       select source_id, redrive_at - first_seen as span from newest where redrive_at > first_seen
       union all
       select source_id, first_seen - min(first_seen) over (
                partition by source_id, aggregate_type, aggregate_id order by version desc range between unbounded preceding and 1 preceding)
         from newest where aggregate_id is not null and version is not null)
     select s.name, extract(epoch from max(span))::float8 * 1000 as ms
       from spans join sources s on s.id = source_id where span > interval '0' group by s.name`,
    [],
    { name: "contract-spans" },
  );
  return new Map(rows.flatMap(({ name, ms }) => (ms === null ? [] : [[name, ms]])));
}
