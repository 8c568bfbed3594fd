import { resolveInstant } from "@/lib/events/filter/event-filter.shapes";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import type { Prisma, RedriveRule } from "@/lib/platform/database/generated/client";
import { takingName } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { RULE_FIELDS } from "@/lib/rules/redrive-rule.pure";
import { digestOf, readTrial, unknownRedriveRule } from "@/lib/rules/redrive-rules.read";
import {
  REDRIVE_RULES_MAX,
  type RedriveRuleBody,
  type RedriveRuleChange,
  type RedriveRuleRequest,
  readRedriveRuleBody,
} from "@/lib/rules/redrive-rules.shapes";
import { advanceRedriveRules, insertRedriveRule, updateRedriveRule } from "@/lib/rules/redrive-rules.write";
import { deleteRule, moveRule } from "@/lib/rules/rule-order.write";
import { unknownSource } from "@/lib/sources/sources.read";

type RuleDeps = LowRateDeps & { db: Db };

/** Stores a rule behind the others, switched off. Throws DomainError `name-taken`, `unknown-source`, `invalid-request`. */
export async function createRedriveRule(deps: RuleDeps, request: RedriveRuleRequest, viewer: Viewer): Promise<string> {
  const { name, reason, ...body } = request;
  assertMayRun(viewer, body);
  const atMs = deps.clock.wallMs();
  assertNotPast(body, atMs);
  const id = uuidv7(atMs);
  const edit = { id, name, reason, actor: viewer.name, atMs };
  await changeRules(deps, edit, async (prisma) => {
    await assertSources(prisma, body);
    if ((await prisma.redriveRule.count()) >= REDRIVE_RULES_MAX) {
      throw invalid([{ field: "name", detail: `there are ${REDRIVE_RULES_MAX} rules: delete one first` }]);
    }
    const rule = await insertRedriveRule(prisma, { id, name, body }, edit);
    return { action: "created", before: null, after: shown(rule) };
  });
  return id;
}

/**
 * Changes a rule, moves it, or switches it on or off. A run that was found by the rules of before is not made. A rule is
 * only on as it was tried: to switch it on, or to change what it does while it is on, the change names a trial of the rule
 * as the change leaves it. Throws DomainError `unknown-redrive-rule`, `not-tried`, `illegal-transition` when the rule has
 * another version than the request names, `unknown-source`, `name-taken`, `invalid-request`.
 */
export async function changeRedriveRule(
  deps: RuleDeps,
  { id, change }: { id: string; change: RedriveRuleChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-redrive-rule");
  const { name, reason, position, trial } = change;
  const atMs = deps.clock.wallMs();
  const tried = trial === undefined ? null : await readTrial(deps.db, trial);
  const edit = { id, name: name ?? "", reason, actor: viewer.name, atMs };
  await changeRules(deps, edit, async (prisma) => {
    const stored = await prisma.redriveRule.findUnique({ where: { id } });
    assertChangeable(stored, id, viewer);
    assertVersion(stored, change.version);
    const body = mergedBody(stored, change);
    assertMayRun(viewer, body);
    const changes = RULE_FIELDS.some((field) => change[field] !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    if (changes) {
      assertNotPast(body, atMs);
      await assertSources(prisma, body);
    }
    if (enabled && (changes || !stored.enabled)) assertTried(body, tried?.digest ?? null);
    const edited = changes || name !== undefined;
    const next = { name: name ?? stored.name, body, edited, enabled };
    const after = await updateRedriveRule(prisma, stored, next, edit);
    const place = position === undefined ? stored.position : await moveRule(prisma, "redrive_rules", id, position);
    const switched = enabled !== stored.enabled;
    return {
      action: switched && !changes ? (enabled ? "enabled" : "disabled") : "changed",
      before: shown(stored),
      after: {
        ...shown({ ...after, position: place }),
        ...(enabled && tried ? { tried: triedCounts(tried.result) } : {}),
      },
    };
  });
}

/** Deletes a rule. Redrives that it asked for go on. Throws DomainError `unknown-redrive-rule`. */
export async function deleteRedriveRule(
  deps: LowRateDeps,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-redrive-rule");
  const edit = { id, name: "", reason, actor: viewer.name, atMs: deps.clock.wallMs() };
  await changeRules(deps, edit, async (prisma) => {
    const stored = await prisma.redriveRule.findUnique({ where: { id } });
    assertChangeable(stored, id, viewer);
    await deleteRule(prisma, "redrive_rules", id);
    return { action: "deleted", before: shown(stored), after: null };
  });
}

type Edit = { id: string; name: string; reason: string; actor: string; atMs: number };

/** One transaction, with its audit entry and a new revision. */
async function changeRules(
  { lowRate }: LowRateDeps,
  { id, name, reason, actor, atMs }: Edit,
  work: (prisma: Prisma.TransactionClient) => Promise<{
    action: "created" | "changed" | "enabled" | "disabled" | "deleted";
    before: object | null;
    after: object | null;
  }>,
): Promise<void> {
  await takingName("rule", name, () =>
    lowRate.write(async ({ prisma, audit }) => {
      await advanceRedriveRules(prisma);
      const { action, before, after } = await work(prisma);
      const entry = { action: `redrive-rule.${action}`, before, after, actor, reason, count: 1, atMs };
      await audit({ ...entry, subjectKind: "redrive-rule", subjectId: id });
    }),
  );
}

function mergedBody(stored: RedriveRule, change: RedriveRuleChange): RedriveRuleBody {
  const asked = Object.fromEntries(
    RULE_FIELDS.flatMap((field) => (change[field] === undefined ? [] : [[field, change[field]]])),
  );
  const read = readRedriveRuleBody({ ...(stored.body as object), ...asked });
  if ("faults" in read) throw invalid(read.faults);
  return read.body;
}

function assertChangeable(stored: RedriveRule | null, id: string, viewer: Viewer): asserts stored is RedriveRule {
  const { filter } = (stored?.body ?? {}) as { filter?: { source?: string[] } };
  if (!stored || !seesAll(viewer, filter?.source ?? null)) throw unknownRedriveRule(id);
}

function assertVersion({ version }: RedriveRule, asked: number | undefined): void {
  if (asked === undefined || asked === version) return;
  throw new DomainError("illegal-transition", `The rule has version ${version} now: read it again`, {
    fields: [{ field: "version", detail: `is ${version} by now` }],
  });
}

/** A rule redrives by itself: who writes it may redrive the same events. */
function assertMayRun(viewer: Viewer, { filter }: Pick<RedriveRuleBody, "filter">): void {
  for (const action of ["change-redrive-rule", "redrive"] as const) assertMay(viewer, action, filter.source ?? "all");
}

function assertTried(body: RedriveRuleBody, digest: string | null): void {
  if (digest === digestOf(body)) return;
  const why = digest === null ? "name a trial of it" : "that trial is of another version of it";
  throw new DomainError("not-tried", `The rule is not switched on untried: ${why}`, {
    fields: [
      { field: "trial", detail: "POST /api/v1/redrive-rules/try with the rule as it is, and name the answer's id" },
    ],
  });
}

/** A window that has ended: no event that is parked from now on is within it. */
function assertNotPast({ filter }: Pick<RedriveRuleBody, "filter">, nowMs: number): void {
  const { to } = filter;
  // A relative time moves along with the clock.
  if (to === undefined || !/^\d/.test(to) || /[smhdw]$/.test(to) || resolveInstant(to, nowMs)! > nowMs) return;
  throw invalid([{ field: "filter.to", detail: "is in the past: leave it out, or redrive these events once" }]);
}

/** A misspelt source would have a rule that never matches. */
async function assertSources(
  prisma: Prisma.TransactionClient,
  { filter }: Pick<RedriveRuleBody, "filter">,
): Promise<void> {
  const names = filter.source ?? [];
  const known = await prisma.source.findMany({ where: { name: { in: names } }, select: { name: true } });
  const missing = names.find((name) => !known.some((source) => source.name === name));
  if (missing !== undefined) throw unknownSource(missing, "filter.source");
}

function invalid(fields: FieldError[]): DomainError {
  const detail = fields.map((fault) => `${fault.field}: ${fault.detail}`).join("; ");
  return new DomainError("invalid-request", detail, { fields });
}

function triedCounts({ taken, stayed, cameBack, never }: Record<string, unknown>): object {
  return { taken, stayed, cameBack, never };
}

function shown({ name, position, enabled, version, body }: RedriveRule): object {
  return { name, position, enabled, version, ...(body as object) };
}
