import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { RuleBody } from "@/lib/intake/admission/admission.pure";
import {
  RULES_PER_SOURCE_MAX,
  type RuleChange,
  type RuleRequest,
  readRuleBody,
  type Trial,
} from "@/lib/intake/admission/admission.shapes";
import { unknownRule } from "@/lib/intake/admission/admission-rules.read";
import { advanceRevision, insertRule, updateRule } from "@/lib/intake/admission/admission-rules.write";
import { type TryDeps, tryAdmissionRule } from "@/lib/intake/admission/try-admission-rule";
import type { AdmissionRule, Prisma } from "@/lib/platform/database/generated/client";
import { takingName } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { deleteRule, moveRule } from "@/lib/rules/rule-order.write";
import { unknownSource } from "@/lib/sources/sources.read";

type RuleDeps = LowRateDeps & TryDeps;

/** Events on which a rule is tried when it is switched on. */
const TRIED_NEWEST = 200;

/** `trial`: what a rule that was switched on would have done to the newest events; null = not switched on, or unknown. */
export type StoredRule = { id: string; trial: Trial | null };

/**
 * Stores a new rule behind the others. Switched off unless the request says otherwise: a rule is tried first. Throws
 * DomainError `name-taken`, `unknown-source`, `invalid-request`.
 */
export async function createAdmissionRule(deps: RuleDeps, request: RuleRequest, viewer: Viewer): Promise<StoredRule> {
  const { name, source = null, when, do: effect, enabled, reason } = request;
  assertMayChange(viewer, source);
  const edit = { actor: viewer.name, atMs: deps.clock.wallMs(), reason };
  const id = uuidv7(edit.atMs);
  const body = { when, do: effect };
  const trial = enabled ? await trialOf(deps, { id, source, body }, viewer) : null;
  await changeRules(deps, { id, name, ...edit }, async (prisma) => {
    await assertSource(prisma, source);
    const rule = await insertRule(prisma, id, { name, source, enabled, body }, edit);
    return { action: "rule.created", before: null, after: { ...shown(rule), ...tried(trial) } };
  });
  return { id, trial };
}

/**
 * Changes a rule; the next batch of arrivals is judged by it. A rule that is switched on is tried on the newest events
 * first, and the audit keeps the result. Throws DomainError `unknown-rule`, `unknown-source`, `name-taken`,
 * `illegal-transition` when the rule has another version than the request names, `invalid-request`.
 */
export async function changeAdmissionRule(
  deps: RuleDeps,
  { id, change }: { id: string; change: RuleChange },
  viewer: Viewer,
): Promise<StoredRule> {
  assertMay(viewer, "change-admission");
  const edit = { actor: viewer.name, atMs: deps.clock.wallMs(), reason: change.reason };
  const seen = await deps.lowRate.read((prisma) => prisma.admissionRule.findUnique({ where: { id } }));
  const next = merged(seen, id, change, viewer);
  const trial = change.enabled ? await trialOf(deps, { id, ...next }, viewer) : null;
  await changeRules(deps, { id, name: next.name, ...edit }, async (prisma) => {
    const stored = await prisma.admissionRule.findUnique({ where: { id } });
    // The version of the trial, too: nothing is switched on that was not tried.
    if (!stored || stored.version !== (change.version ?? seen!.version)) throw changedMeanwhile(stored, id);
    const columns = merged(stored, id, change, viewer);
    if (columns.source !== stored.source) await assertSource(prisma, columns.source);
    const edited = [change.name, change.source, change.when, change.do].some((value) => value !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    const after = await updateRule(prisma, stored, { ...columns, enabled, edited }, edit);
    const position = change.position ? await moveRule(prisma, "admission_rules", id, change.position) : stored.position;
    return {
      action: `rule.${edited || change.enabled === undefined ? "changed" : enabled ? "enabled" : "disabled"}`,
      before: shown(stored),
      after: { ...shown({ ...after, position }), ...tried(trial) },
    };
  });
  return { id, trial };
}

/** Deletes a rule. Its versions stay: events name them. Throws DomainError `unknown-rule`. */
export async function deleteAdmissionRule(
  deps: LowRateDeps,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-admission");
  await changeRules(deps, { id, name: "", actor: viewer.name, atMs: deps.clock.wallMs(), reason }, async (prisma) => {
    const stored = await prisma.admissionRule.findUnique({ where: { id } });
    assertChangeable(stored, id, viewer);
    await deleteRule(prisma, "admission_rules", id);
    return { action: "rule.deleted", before: shown(stored), after: null };
  });
}

type RuleEdit = { id: string; name: string; actor: string; atMs: number; reason: string };
type RuleAudit = { action: string; before: object | null; after: object | null };

/** One transaction, with its audit entry and a new revision. */
async function changeRules(
  { lowRate }: LowRateDeps,
  { id, name, actor, atMs, reason }: RuleEdit,
  work: (prisma: Prisma.TransactionClient) => Promise<RuleAudit>,
): Promise<void> {
  await takingName("rule", name, () =>
    lowRate.write(async ({ prisma, audit }) => {
      await advanceRevision(prisma);
      const entry = await work(prisma);
      await audit({ ...entry, actor, subjectKind: "rule", subjectId: id, reason, count: 1, atMs });
    }),
  );
}

/** The rule as a change leaves it. Throws DomainError `unknown-rule`, `invalid-request`. */
function merged(
  stored: AdmissionRule | null,
  id: string,
  { name, source, when, do: effect }: RuleChange,
  viewer: Viewer,
): { name: string; source: string | null; body: RuleBody } {
  assertChangeable(stored, id, viewer);
  const next = source === undefined ? stored.source : source;
  if (next !== stored.source) assertMayChange(viewer, next);
  const old = stored.body as Partial<RuleBody>;
  const read = readRuleBody({ when: when ?? old.when, do: effect ?? old.do });
  if ("faults" in read) throw invalid(read.faults);
  return { name: name ?? stored.name, source: next, body: read.body };
}

function assertChangeable(stored: AdmissionRule | null, id: string, viewer: Viewer): asserts stored is AdmissionRule {
  if (!stored || (stored.source !== null && !sees(viewer, stored.source))) throw unknownRule(id);
  assertMayChange(viewer, stored.source);
}

function assertMayChange(viewer: Viewer, source: string | null): void {
  assertMay(viewer, "change-admission", source === null ? "all" : [source]);
}

function changedMeanwhile(stored: AdmissionRule | null, id: string): DomainError {
  if (!stored) return unknownRule(id);
  return new DomainError("illegal-transition", `The rule has version ${stored.version} now: read it again`, {
    fields: [{ field: "version", detail: `is ${stored.version} by now` }],
  });
}

function invalid(fields: FieldError[]): DomainError {
  const detail = fields.map((fault) => `${fault.field}: ${fault.detail}`).join("; ");
  return new DomainError("invalid-request", detail, { fields });
}

/** A misspelt source would have a rule that never matches. */
async function assertSource(prisma: Prisma.TransactionClient, source: string | null): Promise<void> {
  if (source !== null && !(await prisma.source.findUnique({ where: { name: source } }))) throw unknownSource(source);
  if ((await prisma.admissionRule.count({ where: { source } })) < RULES_PER_SOURCE_MAX) return;
  const whose = source === null ? "There are" : `${source} has`;
  throw new DomainError(
    "invalid-request",
    `source: ${whose} ${RULES_PER_SOURCE_MAX} rules${source === null ? " for every source" : ""}: delete one first, or join two`,
    { fields: [{ field: "source", detail: `at most ${RULES_PER_SOURCE_MAX} rules` }] },
  );
}

/** null = the events could not be read in time: the rule is switched on all the same. */
async function trialOf(
  deps: TryDeps,
  { id, source, body }: { id: string; source: string | null; body: RuleBody },
  viewer: Viewer,
): Promise<Trial | null> {
  try {
    return await tryAdmissionRule(deps, { id, rule: { source, ...body }, newest: TRIED_NEWEST }, viewer);
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}

function tried(trial: Trial | null): object {
  if (trial === null) return {};
  const { checked, matched, dropped, changed, failed } = trial;
  return { tried: { checked, matched, dropped, changed, failed } };
}

function shown({ name, source, position, enabled, version, body }: AdmissionRule): object {
  return { name, source, position, enabled, version, ...(body as object) };
}
