import { isDeepStrictEqual } from "node:util";
import { Noun, type NounDeps } from "@/lib/guard/noun";
import { unknownSourceFaults } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readRetention } from "@/lib/keep/retention/retention.read";
import { sourcesOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import {
  type AlertRuleChange,
  type AlertRuleOut,
  type AlertRuleRequest,
  alertRuleSchema,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

const DAY_MS = 86_400_000;
const RULES_MAX = 1_000;

/** `expires`: events are removed when they were kept for their time. */
export type AlertRuleDeps = NounDeps & { expires: boolean };

export const ALERT_RULES = new Noun<AlertRuleOut, "fault" | "firing">({
  table: "alert_rules",
  schema: alertRuleSchema,
  columns: { watch: "body" },
  computed: {
    fault: "case when t.enabled then t.fault end",
    firing: `(select count(*) from alerts a where a.rule_id = t.id and a.state = 'firing'
      and ($1::text[] is null or a.source = any($1)))::int`,
  },
  // A rule over some sources is seen by whoever sees all of them; one over every source by everybody: it holds no data.
  seen: "($1::text[] is null or t.body -> 'sources' is null or t.body -> 'sources' <@ to_jsonb($1::text[]))",
  key: "id",
  subject: "alert-rule",
  verbs: { create: "created", remove: "deleted" },
  needs: "change-alert",
  sourcesOf: ({ watch }) => sourcesOf(watch),
  audited: ({ name, severity, enabled, version, watch }) => ({ name, severity, enabled, version, watch }),
  unknown: (id) => ["unknown-alert-rule", `There is no alert rule ${id}`, "list rules with GET /api/v1/alert-rules"],
  taken: ({ name }) => nameTaken("rule of alerts", name),
  // An evaluation commits before the change or finds the rule changed: it holds the same lock.
  enter: (tx) => tx.run("select generation from alert_evaluation where id = 1 for update"),
});

/** Throws DomainError `forbidden`, `invalid-config` for a rule that can never fire, `name-taken`. */
export async function addAlertRule(
  deps: AlertRuleDeps,
  { reason, ...set }: AlertRuleRequest,
  viewer: Viewer,
): Promise<AlertRuleOut> {
  return ALERT_RULES.create(deps, { set, reason }, viewer, async (tx) => {
    await assertCanFire({ ...deps, db: tx }, set.watch, viewer);
    const [row] = await tx.query<{ n: number }>("select count(*)::int as n from alert_rules");
    if (row!.n < RULES_MAX) return {};
    throw invalidFields([{ field: "name", detail: `there are ${RULES_MAX} rules: delete one first` }]);
  });
}

/**
 * Changes a rule. Alerts of a rule that is switched off, or that watches something else, are resolved, and say why. Throws
 * DomainError `unknown-alert-rule`, `forbidden`, `illegal-transition` (another version), `invalid-config`, `name-taken`.
 */
export async function changeAlertRule(
  deps: AlertRuleDeps,
  { id, change: { version, reason, ...set } }: { id: string; change: AlertRuleChange },
  viewer: Viewer,
): Promise<AlertRuleOut> {
  if (set.watch) await assertCanFire(deps, set.watch, viewer);
  return ALERT_RULES.change(deps, { key: id, version, reason }, viewer, async (tx, stored) => {
    const { enabled = stored.enabled, watch = stored.watch } = set;
    if (!enabled && stored.enabled) await endAlertsOf(tx, id, "rule-off");
    else if (!isDeepStrictEqual(watch, stored.watch)) await endAlertsOf(tx, id, "rule-changed");
    return {
      set: { ...set, version: stored.version + 1, fault: null },
      verb: enabled === stored.enabled ? "changed" : enabled ? "enabled" : "disabled",
      // The audit names the version that was changed.
      beside: { version: stored.version },
    };
  });
}

/** Deletes a rule; its alerts are resolved and stay on record. Throws DomainError `unknown-alert-rule`, `forbidden`. */
export async function removeAlertRule(
  deps: NounDeps,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  await ALERT_RULES.remove(deps, { key: id, reason }, viewer, (tx) => endAlertsOf(tx, id, "rule-removed"));
}

/** Throws DomainError `invalid-config`, which names the field, for a rule that can never fire. */
export async function assertCanFire(
  { db, expires }: { db: Queryable; expires: boolean },
  watch: AlertWatch,
  viewer: Viewer,
): Promise<void> {
  const faults: FieldError[] = [];
  const sources = sourcesOf(watch);
  if (sources !== null) {
    faults.push(...(await unknownSourceFaults(db, viewer, { names: sources, field: "watch.sources" })));
  }
  const { days, rules } = await readRetention(db);
  // Whole UTC days expire.
  const keptMs = expires ? (Math.max(days, ...rules.map((rule) => rule.days)) + 1) * DAY_MS : null;
  const never = alertKindOf(watch.kind).neverFires?.(watch, keptMs);
  if (never) faults.push({ ...never, field: `watch.${never.field}` });
  if (faults.length > 0) throw invalidFields(faults, "invalid-config");
}

/** Ends the live alerts of a rule that does not watch the same any more; pending ones are forgotten. */
async function endAlertsOf(
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
