import type { StoredRuleOut } from "@/lib/rules/rule.shapes";

/** What every stored rule `r` shows beside its own columns. */
export const RULE_COLUMNS = `r.id, r.name, r.position, r.enabled, r.version, r.body, r.created_by as "createdBy",
  r.created_at as "createdAt", r.updated_by as "updatedBy", r.updated_at as "updatedAt"`;

/** Times are ISO 8601. */
export type RuleColumns = StoredRuleOut & { body: unknown };
