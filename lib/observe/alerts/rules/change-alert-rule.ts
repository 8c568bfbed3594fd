import { isDeepStrictEqual } from "node:util";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readRetention } from "@/lib/keep/retention/retention.read";
import { BEGAN_MS } from "@/lib/observe/alerts/findings.pure";
import { sourcesOf } from "@/lib/observe/alerts/rules/alert-rule.pure";
import { unknownAlertRule } from "@/lib/observe/alerts/rules/alert-rules.read";
import type { AlertRuleChange, AlertRuleRequest, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { unknownSourceFaults } from "@/lib/sources/sources.read";

const DAY_MS = 86_400_000;
const RULES_MAX = 1_000;

/** `expires`: events are removed when they were kept for their time. */
export type AlertRuleDeps = Pick<Deps, "db" | "clock"> & { expires: boolean };

/** Adds a rule. Returns its id. Throws DomainError `forbidden`, `invalid-config` for a rule that can never fire, `name-taken`. */
export async function addAlertRule(deps: AlertRuleDeps, request: AlertRuleRequest, viewer: Viewer): Promise<string> {
  const { name, severity, enabled, watch, reason } = request;
  assertMayChange(viewer, watch);
  await assertCanFire(deps, watch, viewer);
  const atMs = deps.clock.wallMs();
  const edit = { id: uuidv7(atMs), actor: viewer.name, atMs };
  await deps.db.transaction(async (tx) => {
    await waitForEvaluation(tx);
    if ((await countAlertRules(tx)) >= RULES_MAX) {
      throw invalidFields([{ field: "name", detail: `there are ${RULES_MAX} rules: delete one first` }]);
    }
    await assertNameFree(tx, name, edit.id);
    const rule = { name, severity, enabled, watch };
    await insertAlertRule(tx, rule, edit);
    await audit(tx, edit, { action: "alert-rule.created", reason, before: null, after: rule });
  });
  return edit.id;
}

/**
 * Changes a rule. Alerts of a rule that is switched off, or that watches something else, are resolved, and say why. Throws
 * DomainError `unknown-alert-rule`, `forbidden`, `illegal-transition` (another version), `invalid-config`, `name-taken`.
 */
export async function changeAlertRule(
  deps: AlertRuleDeps,
  { id, change }: { id: string; change: AlertRuleChange },
  viewer: Viewer,
): Promise<void> {
  if (change.watch) await assertCanFire(deps, change.watch, viewer);
  const edit = { id, actor: viewer.name, atMs: deps.clock.wallMs() };
  await deps.db.transaction(async (tx) => {
    await waitForEvaluation(tx);
    const before = await changeable(tx, id, viewer);
    if (change.watch) assertMayChange(viewer, change.watch);
    if (change.version !== undefined && change.version !== before.version) {
      throw new DomainError("illegal-transition", `The rule has version ${before.version} now: read it again`, {
        fields: [{ field: "version", detail: `is ${before.version} by now` }],
      });
    }
    const after = { ...before, ...definedOf(change) };
    if (after.name !== before.name) await assertNameFree(tx, after.name, id);
    await updateAlertRule(tx, after, edit);
    if (!after.enabled && before.enabled) await endAlertsOf(tx, id, "rule-off");
    else if (!isDeepStrictEqual(after.watch, before.watch)) await endAlertsOf(tx, id, "rule-changed");
    const action = after.enabled === before.enabled ? "changed" : after.enabled ? "enabled" : "disabled";
    await audit(tx, edit, { action: `alert-rule.${action}`, reason: change.reason, before, after });
  });
}

/** Deletes a rule; its alerts are resolved and stay on record. Throws DomainError `unknown-alert-rule`, `forbidden`. */
export async function removeAlertRule(
  { db, clock }: Pick<AlertRuleDeps, "db" | "clock">,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  await db.transaction(async (tx) => {
    await waitForEvaluation(tx);
    const before = await changeable(tx, id, viewer);
    await endAlertsOf(tx, id, "rule-removed");
    await deleteAlertRule(tx, id);
    const edit = { id, actor: viewer.name, atMs: clock.wallMs() };
    await audit(tx, edit, { action: "alert-rule.deleted", reason, before, after: null });
  });
}

function definedOf({ name, severity, enabled, watch }: AlertRuleChange): Partial<StoredAlertRule> {
  const given = Object.entries({ name, severity, enabled, watch }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

async function changeable(tx: Tx, id: string, viewer: Viewer): Promise<StoredAlertRule> {
  const stored = await lockAlertRule(tx, id);
  if (stored === null) throw unknownAlertRule(id);
  const sources = sourcesOf(stored.watch);
  if (sources !== null && !seesAll(viewer, sources)) throw unknownAlertRule(id);
  assertMayChange(viewer, stored.watch);
  return stored;
}

function assertMayChange(viewer: Viewer, watch: AlertWatch): void {
  assertMay(viewer, "change-alert", sourcesOf(watch) ?? "all");
}

async function assertNameFree(tx: Tx, name: string, id: string): Promise<void> {
  const [taken] = await tx.query<{ id: string }>("select id from alert_rules where name = $1 and id <> $2", [name, id]);
  if (taken) throw nameTaken("rule of alerts", name);
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
  if (watch.kind === "age" && expires) {
    const { days, rules } = await readRetention(db);
    // Whole UTC days expire.
    const keptMs = (Math.max(days, ...rules.map((rule) => rule.days)) + 1) * DAY_MS;
    if (watch.aboveMs >= keptMs) {
      const detail = `no event is older than ${formatDuration(keptMs)}, see retention: give less, or the rule can never fire`;
      faults.push({ field: "watch.aboveMs", detail });
    }
  }
  if ((watch.kind === "new-group" || watch.kind === "group-back") && watch.forMs >= BEGAN_MS) {
    const detail = `a group counts as new for ${formatDuration(BEGAN_MS)}: give less, or the rule can never fire`;
    faults.push({ field: "watch.forMs", detail });
  }
  if (faults.length > 0) throw invalidFields(faults, "invalid-config");
}

type Edit = { id: string; actor: string; atMs: number };
type Change = { action: string; reason: string | undefined; before: object | null; after: object | null };

async function audit(tx: Tx, { id, actor, atMs }: Edit, { reason, ...change }: Change): Promise<void> {
  const entry = { actor, atMs, subjectKind: "alert-rule", subjectId: id, count: 1, reason: reason ?? null } as const;
  await appendAudit(tx, { ...entry, ...change });
}

type StoredAlertRule = Pick<AlertRuleRequest, "name" | "severity" | "enabled"> & {
  version: number;
  watch: AlertWatch;
};

/** An evaluation commits before the change or finds the rule changed: it holds the same lock. */
async function waitForEvaluation(tx: Tx): Promise<void> {
  await tx.run("select generation from alert_evaluation where id = 1 for update");
}

/** null = there is no such rule. */
async function lockAlertRule(tx: Tx, id: string): Promise<StoredAlertRule | null> {
  const [row] = await tx.query<StoredAlertRule>(
    "select name, severity, enabled, version, body as watch from alert_rules where id = $1 for update",
    [id],
  );
  return row ?? null;
}

async function countAlertRules(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ n: number }>("select count(*)::int as n from alert_rules");
  return row!.n;
}

async function insertAlertRule(tx: Tx, rule: Omit<StoredAlertRule, "version">, edit: Edit): Promise<void> {
  await tx.run(
    `insert into alert_rules (id, name, severity, enabled, body, created_by, created_at, updated_by, updated_at)
     values ($1, $2, $3, $4, $5::jsonb, $6, to_timestamp($7::float8 / 1000), $6, to_timestamp($7::float8 / 1000))`,
    [edit.id, rule.name, rule.severity, rule.enabled, JSON.stringify(rule.watch), edit.actor, edit.atMs],
  );
}

async function updateAlertRule(tx: Tx, rule: StoredAlertRule, edit: Edit): Promise<void> {
  await tx.run(
    `update alert_rules set name = $2, severity = $3, enabled = $4, body = $5::jsonb, version = version + 1, fault = null, updated_by = $6,
            updated_at = to_timestamp($7::float8 / 1000)
      where id = $1`,
    [edit.id, rule.name, rule.severity, rule.enabled, JSON.stringify(rule.watch), edit.actor, edit.atMs],
  );
}

async function deleteAlertRule(tx: Tx, id: string): Promise<void> {
  await tx.run("delete from alert_rules where id = $1", [id]);
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
