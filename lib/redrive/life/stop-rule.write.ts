import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Tx } from "@/lib/platform/database/db";

/** Switches the rule of a redrive off, unless it is off already or no rule asked for the redrive. */
export async function stopRuleOf(tx: Tx, redriveId: string, reason: string, atMs: number): Promise<void> {
  const [run] = await tx.query<{ id: string }>(
    "select rule_id as id from redrive_rule_runs where redrive_id = $1",
    [redriveId],
    { name: "rule-of-redrive" },
  );
  if (run) await stopRule(tx, run.id, { reason, redriveId, atMs });
}

/** A rule switches itself off. False = it was off. */
export async function stopRule(
  tx: Tx,
  id: string,
  { reason, redriveId, atMs }: { reason: string; redriveId: string | null; atMs: number },
): Promise<boolean> {
  const [rule] = await tx.query<{ name: string; version: number; filter: unknown }>(
    `update redrive_rules set enabled = false, stopped_at = now(), stop_reason = $2
      where id = $1 and enabled returning name, version, body -> 'filter' as filter`,
    [id, reason],
  );
  if (!rule) return false;
  const shown = { name: rule.name, version: rule.version, filter: rule.filter };
  await appendAudit(tx, {
    actor: `rule:${rule.name}`,
    action: "redrive-rule.stopped",
    subjectId: id,
    redriveId,
    reason,
    before: { ...shown, enabled: true },
    after: { ...shown, enabled: false },
    atMs,
  });
  return true;
}
