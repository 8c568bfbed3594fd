import { type LiveAlert, nextStep } from "@/lib/observe/alerts/alert-state.pure";
import type { AlertFacts } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Finding } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, judge } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type { Severity } from "@/lib/states/severity.pure";

/** Live alerts of one rule: beyond them what is wrong is no longer one thing after the other. */
export const RULE_ALERTS_MAX = 1_000;

type PlannedRule = {
  id: string;
  name: string;
  severity: Severity;
  version: number;
  watch: AlertWatch;
  fault: string | null;
};
export type KnownAlert = LiveAlert & { id: string; ruleId: string; key: string; source: string | null };

/** What becomes of one alert; `known` null = it begins. `finding` null: its condition holds no more. */
export type PlannedChange<Known extends KnownAlert> = {
  rule: PlannedRule;
  known: Known | null;
  finding: Finding | null;
  to: "pending" | "firing" | "resolved" | "dropped";
  sinceMs: number;
  clearSinceMs: number | null;
  fires: boolean;
};

type Plan<Known extends KnownAlert> = {
  changes: PlannedChange<Known>[];
  /** Rules whose fault is another one than before; null = they could be judged. */
  faults: { id: string; fault: string | null }[];
};

/**
 * Judges every rule by the same facts. The alerts of a rule that cannot be judged stay as they are.
 */
export function planEvaluation<Known extends KnownAlert>(
  rules: readonly PlannedRule[],
  live: readonly Known[],
  facts: AlertFacts,
): Plan<Known> {
  const plan: Plan<Known> = { changes: [], faults: [] };
  const byRule = Map.groupBy(live, ({ ruleId }) => ruleId);
  for (const rule of rules) {
    const known = new Map((byRule.get(rule.id) ?? []).map((alert) => [alert.key, alert]));
    const fault = planRule(rule, known, facts, plan.changes);
    if (fault !== rule.fault) plan.faults.push({ id: rule.id, fault });
  }
  return plan;
}

function planRule<Known extends KnownAlert>(
  rule: PlannedRule,
  known: ReadonlyMap<string, Known>,
  facts: AlertFacts,
  changes: PlannedChange<Known>[],
): string | null {
  const firing = new Set([...known].flatMap(([key, { state }]) => (state === "firing" ? [key] : [])));
  const judged = judge(rule.watch, facts, firing);
  if ("fault" in judged) return judged.fault;
  const found = new Map(judged.findings.map((finding) => [finding.key, finding]));
  let room = RULE_ALERTS_MAX - known.size;
  let left = 0;
  for (const key of new Set([...known.keys(), ...found.keys()])) {
    const [alert, finding] = [known.get(key) ?? null, found.get(key) ?? null];
    const step = nextStep(alert, finding?.holds ?? false, rule.watch, facts.nowMs);
    const { to } = step;
    if (to === "none") continue;
    if (alert === null && --room < 0) {
      left++;
      continue;
    }
    const stays = { sinceMs: alert?.sinceMs ?? facts.nowMs, clearSinceMs: alert?.clearSinceMs ?? null, fires: false };
    changes.push({ rule, known: alert, finding, ...stays, ...step, to });
  }
  return left === 0 ? null : `it has ${RULE_ALERTS_MAX} alerts: ${left} more are not listed`;
}
