import type { AlertRuleRequest, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { Tx } from "@/lib/platform/database/db";

export type StoredAlertRule = Pick<AlertRuleRequest, "name" | "severity" | "enabled"> & {
  version: number;
  watch: AlertWatch;
};

/** An evaluation commits before the change or finds the rule changed: it holds the same lock. */
export async function waitForEvaluation(tx: Tx): Promise<void> {
  await tx.run("select generation from alert_evaluation where id = 1 for update");
}

/** null = there is no such rule. */
export async function lockAlertRule(tx: Tx, id: string): Promise<StoredAlertRule | null> {
  const [row] = await tx.query<StoredAlertRule>(
    "select name, severity, enabled, version, body as watch from alert_rules where id = $1 for update",
    [id],
  );
  return row ?? null;
}

type Edit = { id: string; actor: string; atMs: number };

export async function countAlertRules(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ n: number }>("select count(*)::int as n from alert_rules");
  return row!.n;
}

export async function insertAlertRule(tx: Tx, rule: Omit<StoredAlertRule, "version">, edit: Edit): Promise<void> {
  await tx.run(
    `insert into alert_rules (id, name, severity, enabled, body, created_by, created_at, updated_by, updated_at)
     values ($1, $2, $3, $4, $5::jsonb, $6, to_timestamp($7::float8 / 1000), $6, to_timestamp($7::float8 / 1000))`,
    [edit.id, rule.name, rule.severity, rule.enabled, JSON.stringify(rule.watch), edit.actor, edit.atMs],
  );
}

export async function updateAlertRule(tx: Tx, rule: StoredAlertRule, edit: Edit): Promise<void> {
  await tx.run(
    `update alert_rules set name = $2, severity = $3, enabled = $4, body = $5::jsonb, version = version + 1, fault = null, updated_by = $6,
            updated_at = to_timestamp($7::float8 / 1000)
      where id = $1`,
    [edit.id, rule.name, rule.severity, rule.enabled, JSON.stringify(rule.watch), edit.actor, edit.atMs],
  );
}

export async function deleteAlertRule(tx: Tx, id: string): Promise<void> {
  await tx.run("delete from alert_rules where id = $1", [id]);
}

/** Ends the live alerts of a rule that does not watch the same any more; pending ones are forgotten. */
export async function endAlertsOf(
  tx: Tx,
  ruleId: string,
  because: "rule-changed" | "rule-removed" | "rule-off",
): Promise<void> {
  await tx.run("delete from alerts where rule_id = $1 and state = 'pending'", [ruleId]);
  await tx.run(
    "update alerts set state = 'resolved', resolved_at = now(), resolved_because = $2 where rule_id = $1 and state = 'firing'",
    [ruleId, because],
  );
}
