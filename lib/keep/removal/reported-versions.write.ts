import type { Tx } from "@/lib/platform/database/db";
import { EVENT } from "@/lib/states/state.sql";

/** Who reports the versions that archived events stand for: their aggregates must not go back behind them. */
const REPORTED_BY = "parkade";

/** The reports of one aggregate are made by one transaction at a time. The number is arbitrary. */
const REPORT_LOCK = 7_305_126;

export type NamedAggregate = { sourceId: string; aggregateType: string | null; aggregateId: string | null };

/**
 * Reports, for each of these aggregates, the newest version that an archived event of it was redriven and confirmed as. An
 * event that is restored counts by itself again, so its version is reported no longer. To be called in the transaction that
 * changes `archived_events`. The report has the name of the aggregate in place of an event's id: an event that arrives again
 * under the id of a removed one has not been processed.
 */
export async function reportArchivedVersions(tx: Tx, aggregates: readonly NamedAggregate[]): Promise<void> {
  const named = aggregates.filter(({ aggregateId }) => aggregateId !== null);
  if (named.length === 0) return;
  const values = [
    named.map(({ sourceId }) => sourceId),
    named.map(({ aggregateType }) => aggregateType ?? ""),
    named.map(({ aggregateId }) => aggregateId),
    REPORTED_BY,
  ];
  const NAMED = `(select distinct * from unnest($1::uuid[], $2::text[], $3::text[]) as n(source_id, aggregate_type, aggregate_id)) n`;
  await tx.run("select pg_advisory_xact_lock($1)", [REPORT_LOCK]);
  await tx.run(
    `delete from processed_events p using ${NAMED}
      where p.consumer = $4 and p.source_id = n.source_id and p.aggregate_id = n.aggregate_id
        and p.aggregate_type = n.aggregate_type`,
    values,
    { name: "forget-reports" },
  );
  await tx.run(
    `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
     select $4, n.source_id, jsonb_build_array(n.aggregate_type, n.aggregate_id)::text, n.aggregate_type, n.aggregate_id,
            max(a.version)
       from ${NAMED}
       join archived_events a on a.aggregate_id = n.aggregate_id and a.source_id = n.source_id
                             and a.aggregate_type = n.aggregate_type
      where a.status = ${EVENT.REDRIVEN} and a.version is not null
      group by n.source_id, n.aggregate_type, n.aggregate_id`,
    values,
    { name: "report-archived-versions" },
  );
}
