import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { FailedAggregate } from "@/lib/order/aggregate-failures.write";
import { scopeOut } from "@/lib/order/controls/control.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/**
 * Blacklists an aggregate that keeps failing, until somebody lifts the blacklist. It is stored in the aggregate's own
 * row, so a claim reads only its own aggregates, however many fail. Does nothing when this blacklist is already in
 * force.
 */
export async function blacklistAggregate(
  tx: Tx,
  failed: FailedAggregate,
  facts: { redriveId: string | null; limit: number; nowMs: number },
): Promise<void> {
  const id = uuidv7(facts.nowMs);
  const reason = `${failed.failures} redrives of this aggregate failed in a row (the limit is ${facts.limit})`;
  const [imposed] = await tx.query<{ aggregateType: string; source: string }>(
    `update aggregates a
        set blacklist_id = $4, blacklisted_at = to_timestamp($6::float8 / 1000), blacklist_reason = $5,
            blacklist_redrive = $7
       from sources s
      where a.source_id = $1 and a.aggregate_type = coalesce($2::text, '') and a.aggregate_id = $3
        and s.id = a.source_id and a.blacklist_id is null
     returning a.aggregate_type as "aggregateType", s.name as source`,
    [failed.sourceId, failed.aggregateType, failed.aggregateId, id, reason, facts.nowMs, facts.redriveId],
  );
  if (!imposed) return;
  const scope = scopeOut({ ...imposed, scope: "aggregateId", value: failed.aggregateId });
  await appendAudit(tx, {
    actor: "worker",
    action: "control.imposed",
    subjectKind: "control",
    subjectId: id,
    redriveId: facts.redriveId,
    reason,
    before: null,
    after: { kind: "blacklist", scope, origin: "automatic" },
    count: 1,
    atMs: facts.nowMs,
  });
}
