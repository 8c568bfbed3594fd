import { countMasks } from "@/lib/guard/masking/mask-json.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { Noun, type NounDeps } from "@/lib/guard/noun";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { REDRIVE_RULE_NEEDS, RULE_FIELDS } from "@/lib/rules/redrive-rule.pure";
import { digestOf, readTrial, rulesOut, WORK } from "@/lib/rules/redrive-rules.read";
import {
  REDRIVE_RULES_MAX,
  type RedriveRuleBody,
  type RedriveRuleChange,
  type RedriveRuleOut,
  type RedriveRuleRequest,
  type RedriveRuleRow,
  readRedriveRuleBody,
  redriveRuleRowSchema,
} from "@/lib/rules/redrive-rules.shapes";
import { advanceRevision, assertSources, LAST, moveRule, newRule } from "@/lib/rules/rules.write";
import { resolveInstant } from "@/lib/selection/filter/event-filter.shapes";
import { scopeFilter } from "@/lib/selection/scope.shapes";

export const REDRIVE_RULES = new Noun<RedriveRuleRow, keyof typeof WORK, RedriveRuleOut>({
  table: "redrive_rules",
  schema: redriveRuleRowSchema,
  computed: WORK,
  // A rule takes events of all the sources of its filter, so a viewer sees all of the rule or nothing.
  seen: "($1::text[] is null or t.body -> 'filter' -> 'source' <@ to_jsonb($1::text[]))",
  order: "t.position, t.id",
  key: "id",
  subject: "redrive-rule",
  verbs: { create: "created", remove: "deleted" },
  needs: "change-redrive-rule",
  sourcesOf,
  audited: ({ name, position, enabled, version, body }) => ({ name, position, enabled, version, ...(body as object) }),
  unknown: (id) => [
    "unknown-redrive-rule",
    `There is no redrive rule ${id}: it may have been deleted`,
    "list the rules with GET /api/v1/redrive-rules",
  ],
  taken: ({ name }) => nameTaken("rule", name),
  enter: advanceRevision("redrive_rule_revision"),
  out: rulesOut,
});

/** Stores a rule behind the others, switched off. Throws DomainError `name-taken`, `unknown-source`, `invalid-request`. */
export async function createRedriveRule(
  deps: NounDeps,
  { name, reason, ...body }: RedriveRuleRequest,
  viewer: Viewer,
): Promise<RedriveRuleOut> {
  assertMayRun(viewer, body);
  await assertMayFind(deps.db, viewer, body);
  assertNotPast(body, deps.clock.wallMs());
  assertNoMask(body);
  const set = { name, body, enabled: false, authors: [viewer.name] };
  return REDRIVE_RULES.create(deps, { set, reason }, viewer, async (tx) => {
    await assertSources(tx, body.filter.source ?? [], "filter.source");
    const columns = await newRule(tx, "redrive_rules");
    if (columns.position <= REDRIVE_RULES_MAX) return columns;
    throw invalidFields([{ field: "name", detail: `there are ${REDRIVE_RULES_MAX} rules: delete one first` }]);
  });
}

/**
 * Changes a rule, moves it, or switches it on or off. Runs found under the previous version of the rules are dropped. A
 * rule is only on as it was tried: to switch it on, or to change what it does while it is on, the change names a trial of the rule
 * as the change leaves it. Throws DomainError `unknown-redrive-rule`, `not-tried`, `illegal-transition` when the rule has
 * another version than the request names, `unknown-source`, `name-taken`, `invalid-request`.
 */
export async function changeRedriveRule(
  deps: NounDeps,
  { id, change }: { id: string; change: RedriveRuleChange },
  viewer: Viewer,
): Promise<RedriveRuleOut> {
  assertMay(viewer, "change-redrive-rule");
  const { name, trial, version, position, reason } = change;
  if (change.filter !== undefined) await assertMayFind(deps.db, viewer, { filter: change.filter });
  const tried = trial === undefined ? null : await readTrial(deps.db, trial);
  return REDRIVE_RULES.change(deps, { key: id, version, reason }, viewer, async (tx, stored, { actor, atMs }) => {
    const body = mergedBody(stored, change);
    assertMayRun(viewer, body);
    const changes = RULE_FIELDS.some((field) => change[field] !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    if (changes) {
      assertNotPast(body, atMs);
      assertNoMask(body);
      await assertSources(tx, body.filter.source ?? [], "filter.source");
    }
    if (enabled && (changes || !stored.enabled)) assertTried(body, tried?.digest ?? null);
    const edited = changes || name !== undefined;
    const switched = enabled !== stored.enabled;
    // A new version, and a rule that is switched on, begin at the newest event.
    return {
      set: {
        ...{ name, body, enabled, version: stored.version + (edited ? 1 : 0) },
        position: position === undefined ? undefined : await moveRule(tx, "redrive_rules", id, position),
        ...(edited && { lookedTo: null, fault: null, authors: [...new Set([...stored.authors, actor])] }),
        ...(switched &&
          enabled && { enabledBy: actor, enabledAt: iso(atMs), stoppedAt: null, stopReason: null, lookedTo: null }),
      },
      verb: switched && !changes ? (enabled ? "enabled" : "disabled") : "changed",
      beside: enabled && tried ? { tried: triedCounts(tried.result) } : {},
    };
  });
}

/** Deletes a rule. Redrives that it asked for go on. Throws DomainError `unknown-redrive-rule`. */
export async function deleteRedriveRule(
  deps: NounDeps,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-redrive-rule");
  await REDRIVE_RULES.remove(deps, { key: id, reason }, viewer, (tx) => moveRule(tx, "redrive_rules", id, LAST));
}

/** null = of every source. */
function sourcesOf({ body }: { body: unknown }): string[] | null {
  return (body as Partial<RedriveRuleBody> | null)?.filter?.source ?? null;
}

function mergedBody(stored: { body: unknown }, change: RedriveRuleChange): RedriveRuleBody {
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
  throw new DomainError("not-tried", `The rule cannot be enabled without a trial: ${why}`, {
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

function triedCounts({ taken, stayed, cameBack, never }: Record<string, unknown>): object {
  return { taken, stayed, cameBack, never };
}
