import { appendAudits } from "@/lib/guard/audit/audit.write";
import { NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import type { FailedAggregate } from "@/lib/order/aggregate-failures.write";
import { type StoredScope, scopeOut } from "@/lib/order/controls/control.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/** An aggregate that keeps failing; `redriveId`: the last redrive of it that failed. */
type Failing = FailedAggregate & { redriveId: string | null };

/**
 * Blacklists aggregates that keep failing, until somebody lifts the blacklist. Skips aggregates that are already blacklisted by
 * Parkade. The caller has locked the aggregates.
 */
export async function blacklistAggregates(
  tx: Tx,
  failing: readonly Failing[],
  { limit, nowMs }: { limit: number; nowMs: number },
): Promise<void> {
  if (failing.length === 0) return;
  const column = <T>(of: (aggregate: Failing) => T) => failing.map(of);
  type Imposed = StoredScope & { id: string; reason: string; redriveId: string | null };
  const imposed = await tx.query<Imposed>(
    `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, created_at, redrive_id)
     select w.id, 'blacklist', 'aggregateId', w.aggregate_id, s.name, coalesce(w.aggregate_type, '${NO_AGGREGATE_TYPE}'), w.reason,
            'automatic', 'worker', to_timestamp($6::float8 / 1000), w.redrive
       from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $7::uuid[])
              as w (source_id, aggregate_type, aggregate_id, id, reason, redrive)
       join sources s on s.id = w.source_id
     on conflict (value, source, aggregate_type) where lifted_at is null and origin = 'automatic' do nothing
     returning id, scope, value, source, aggregate_type as "aggregateType", reason, redrive_id as "redriveId"`,
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
    imposed.map(({ id, reason, redriveId, ...scope }) => ({
      actor: "worker",
      action: "control.imposed",
      subjectKind: "control",
      subjectId: id,
      redriveId,
      reason,
      before: null,
      after: { kind: "blacklist", scope: scopeOut(scope), origin: "automatic" },
      count: 1,
      atMs: nowMs,
    })),
  );
}
