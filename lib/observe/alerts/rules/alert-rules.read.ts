import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { Queryable } from "@/lib/platform/database/db";

type RuleInForce = Pick<AlertRuleOut, "id" | "name" | "severity" | "version" | "watch" | "fault">;

export async function readRulesInForce(db: Queryable): Promise<RuleInForce[]> {
  return db.query<RuleInForce>(
    "select id, name, severity, version, body as watch, fault from alert_rules where enabled order by id",
    [],
    { name: "alert-rules-in-force" },
  );
}
