import { appendAudits } from "@/lib/guard/audit/audit.write";
import type { FailedAggregate } from "@/lib/order/aggregate-failures.write";
import { scopeOut } from "@/lib/order/controls/control.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/** An aggregate that keeps failing; `redriveId`: the last redrive of it that failed. */
type Failing = FailedAggregate & { redriveId: string | null };

/**
 * Blacklists aggregates that keep failing, until somebody lifts the blacklist. It is stored in the aggregate's own row, so a claim
 * reads only its own aggregates, however many fail. Skips aggregates that are already blacklisted. The caller has locked the rows.
 */
export async function blacklistAggregates(
  tx: Tx,
  failing: readonly Failing[],
  { limit, nowMs }: { limit: number; nowMs: number },
): Promise<void> {
  if (failing.length === 0) return;
  const column = <T>(of: (aggregate: Failing) => T) => failing.map(of);
  type Imposed = {
    id: string;
    aggregateId: string;
    aggregateType: string;
    source: string;
    reason: string;
    redriveId: string | null;
  };
  const imposed = await tx.query<Imposed>(
    `update aggregates a
        set blacklist_id = w.id, blacklisted_at = to_timestamp($6::float8 / 1000), blacklist_reason = w.reason,
            blacklist_redrive = w.redrive
       from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $7::uuid[])
              as w (source_id, aggregate_type, aggregate_id, id, reason, redrive),
            sources s
      where a.source_id = w.source_id and a.aggregate_type = coalesce(w.aggregate_type, '') and a.aggregate_id = w.aggregate_id
        and s.id = a.source_id and a.blacklist_id is null
     returning a.blacklist_id as id, a.aggregate_id as "aggregateId", a.aggregate_type as "aggregateType", s.name as source,
               a.blacklist_reason as reason, a.blacklist_redrive as "redriveId"`,
    [
      column(({ sourceId }) => sourceId),
      column(({ aggregateType }) => aggregateType),
      column(({ aggregateId }) => aggregateId),
      column(() => uuidv7(nowMs)),
      column(({ failures }) => `${failures} redrives of this aggregate failed in a row (the limit is ${limit})`),
      nowMs,
      column(({ redriveId }) => redriveId),
    ],
  );
  await appendAudits(
    tx,
    imposed.map(({ id, aggregateId, reason, redriveId, ...of }) => ({
      actor: "worker",
      action: "control.imposed",
      subjectKind: "control",
      subjectId: id,
      redriveId,
      reason,
      before: null,
      after: {
        kind: "blacklist",
        scope: scopeOut({ ...of, scope: "aggregateId", value: aggregateId }),
        origin: "automatic",
      },
      count: 1,
      atMs: nowMs,
    })),
  );
}
