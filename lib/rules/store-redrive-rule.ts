import { resolveInstant } from "@/lib/events/filter/event-filter.shapes";
import { countMasks } from "@/lib/guard/masking/mask-json.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { scopeFilter } from "@/lib/guard/viewer/scope.shapes";
import { assertMay, may, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import type { Prisma, RedriveRule } from "@/lib/platform/database/generated/client";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { changeRule, deletionOf, type RuleKind, storeRule } from "@/lib/rules/change-rules";
import { REDRIVE_RULE_NEEDS, RULE_FIELDS } from "@/lib/rules/redrive-rule.pure";
import { digestOf, readTrial, unknownRedriveRule } from "@/lib/rules/redrive-rules.read";
import {
  REDRIVE_RULES_MAX,
  type RedriveRuleBody,
  type RedriveRuleChange,
  type RedriveRuleRequest,
  readRedriveRuleBody,
} from "@/lib/rules/redrive-rules.shapes";
import { insertRedriveRule, updateRedriveRule } from "@/lib/rules/redrive-rules.write";
import { unknownSource } from "@/lib/sources/sources.read";

type RuleDeps = LowRateDeps & { db: Db };

const REDRIVE_RULES: RuleKind<RedriveRule> = {
  table: "redrive_rules",
  revision: "redrive_rule_revision",
  subject: "redrive-rule",
  action: "change-redrive-rule",
  find: (client, id) => client.redriveRule.findUnique({ where: { id } }),
  unknown: unknownRedriveRule,
  isSeenBy: (viewer, rule) => seesAll(viewer, sourcesOf(rule)),
  sourcesOf: (rule) => sourcesOf(rule) ?? "all",
};

/** Stores a rule behind the others, switched off. Throws DomainError `name-taken`, `unknown-source`, `invalid-request`. */
export async function createRedriveRule(deps: RuleDeps, request: RedriveRuleRequest, viewer: Viewer): Promise<string> {
  const { name, reason, ...body } = request;
  assertMayRun(viewer, body);
  await assertMayFind(deps.db, viewer, body);
  const atMs = deps.clock.wallMs();
  assertNotPast(body, atMs);
  assertNoMask(body);
  const id = uuidv7(atMs);
  await storeRule(deps, REDRIVE_RULES, { id, change: { name, reason }, viewer }, async (client, edit) => {
    await assertSources(client, body);
    if ((await client.redriveRule.count()) >= REDRIVE_RULES_MAX) {
      throw invalidFields([{ field: "name", detail: `there are ${REDRIVE_RULES_MAX} rules: delete one first` }]);
    }
    return { rule: await insertRedriveRule(client, { id, name, body }, edit), tried: {} };
  });
  return id;
}

/**
 * Changes a rule, moves it, or switches it on or off. Runs found under the previous version of the rules are dropped. A
 * rule is only on as it was tried: to switch it on, or to change what it does while it is on, the change names a trial of the rule
 * as the change leaves it. Throws DomainError `unknown-redrive-rule`, `not-tried`, `illegal-transition` when the rule has
 * another version than the request names, `unknown-source`, `name-taken`, `invalid-request`.
 */
export async function changeRedriveRule(
  deps: RuleDeps,
  { id, change }: { id: string; change: RedriveRuleChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-redrive-rule");
  const { name, trial } = change;
  if (change.filter !== undefined) await assertMayFind(deps.db, viewer, { filter: change.filter });
  const tried = trial === undefined ? null : await readTrial(deps.db, trial);
  await changeRule(deps, REDRIVE_RULES, { id, change, viewer }, async (client, stored, edit) => {
    const body = mergedBody(stored, change);
    assertMayRun(viewer, body);
    const changes = RULE_FIELDS.some((field) => change[field] !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    if (changes) {
      assertNotPast(body, edit.atMs);
      assertNoMask(body);
      await assertSources(client, body);
    }
    if (enabled && (changes || !stored.enabled)) assertTried(body, tried?.digest ?? null);
    const next = { name: name ?? stored.name, body, edited: changes || name !== undefined, enabled };
    const switched = enabled !== stored.enabled;
    return {
      action: switched && !changes ? (enabled ? "enabled" : "disabled") : "changed",
      rule: await updateRedriveRule(client, stored, next, edit),
      tried: enabled && tried ? { tried: triedCounts(tried.result) } : {},
    };
  });
}

/** Deletes a rule. Redrives that it asked for go on. Throws DomainError `unknown-redrive-rule`. */
export const deleteRedriveRule = deletionOf(REDRIVE_RULES);

/** null = of every source. */
function sourcesOf({ body }: RedriveRule): string[] | null {
  return (body as Partial<RedriveRuleBody> | null)?.filter?.source ?? null;
}

function mergedBody(stored: RedriveRule, change: RedriveRuleChange): RedriveRuleBody {
  const asked = Object.fromEntries(
    RULE_FIELDS.flatMap((field) => (change[field] === undefined ? [] : [[field, change[field]]])),
  );
  const read = readRedriveRuleBody({ ...(stored.body as object), ...asked });
  if ("faults" in read) throw invalidFields(read.faults);
  return read.body;
}

function assertMayRun(viewer: Viewer, { filter }: Pick<RedriveRuleBody, "filter">): void {
  for (const action of REDRIVE_RULE_NEEDS) assertMay(viewer, action, filter.source ?? "all");
}

/** The matches of a rule reveal what an event contains: users without `reveal` cannot filter by masked values. Throws DomainError `forbidden`. */
async function assertMayFind(db: Queryable, viewer: Viewer, { filter }: Pick<RedriveRuleBody, "filter">) {
  if (!may(viewer, "reveal")) scopeFilter(viewer, filter, await readMasks(db));
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

/** Rejects a filter copied from an answer: with masks in place of values it would match other events. */
function assertNoMask({ filter }: Pick<RedriveRuleBody, "filter">): void {
  if (countMasks(JSON.stringify(filter)) === 0) return;
  const detail = "holds a mask, which stands for a value that is not shown";
  throw new DomainError("masked-value", `The filter ${detail}`, { fields: [{ field: "filter", detail }] });
}

/** A window that has ended: no event that is parked from now on is within it. */
function assertNotPast({ filter }: Pick<RedriveRuleBody, "filter">, nowMs: number): void {
  const { to } = filter;
  // A relative time moves along with the clock.
  if (to === undefined || !/^\d/.test(to) || /[smhdw]$/.test(to) || resolveInstant(to, nowMs)! > nowMs) return;
  throw invalidFields([{ field: "filter.to", detail: "is in the past: leave it out, or redrive these events once" }]);
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

function triedCounts({ taken, stayed, cameBack, never }: Record<string, unknown>): object {
  return { taken, stayed, cameBack, never };
}
