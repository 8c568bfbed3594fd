import { uuidv7 } from "@/lib/platform/ids";
import type { Tx } from "@/lib/store/db";
import { appendAudit } from "@/lib/store/write/audit";
import type { FailedAggregate } from "@/lib/store/write/finish-items";

/** Blacklists an aggregate that keeps failing, until somebody lifts it. Does nothing when a blacklist already stands. */
export async function blacklistAggregate(
  tx: Tx,
  failed: FailedAggregate,
  facts: { redriveId: string; limit: number; nowMs: number },
): Promise<void> {
  const id = uuidv7(facts.nowMs);
  const reason = `${failed.failures} redrives of this aggregate failed in a row (the limit is ${facts.limit})`;
  const imposed = await tx.run(
    `insert into controls (id, kind, scope, value, reason, origin, created_by, created_at)
     select $1, 'blacklist', 'aggregateId', $2, $3, 'automatic', 'worker', to_timestamp($4::float8 / 1000)
      where not exists (select 1 from controls where kind = 'blacklist' and scope = 'aggregateId' and value = $2
                           and lifted_at is null and (expires_at is null or expires_at > now()))`,
    [id, failed.aggregateId, reason, facts.nowMs],
  );
  if (imposed === 0) return;
  await appendAudit(tx, {
    actor: "worker",
    action: "control.imposed",
    subjectKind: "control",
    subjectId: id,
    redriveId: facts.redriveId,
    reason,
    before: null,
    after: { kind: "blacklist", scope: { aggregateId: failed.aggregateId }, origin: "automatic" },
    count: 1,
    atMs: facts.nowMs,
  });
}
