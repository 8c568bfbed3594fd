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
import { insertRule, updateRule } from "@/lib/intake/admission/admission-rules.write";
import { type TryDeps, tryAdmissionRule } from "@/lib/intake/admission/try-admission-rule";
import type { AdmissionRule, Prisma } from "@/lib/platform/database/generated/client";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { changeable, changeRule, deletionOf, type RuleKind, storeRule } from "@/lib/rules/change-rules";
import { unknownSource } from "@/lib/sources/sources.read";

type RuleDeps = LowRateDeps & TryDeps;

const ADMISSION: RuleKind<AdmissionRule> = {
  table: "admission_rules",
  revision: "admission_revision",
  subject: "rule",
  action: "change-admission",
  find: (client, id) => client.admissionRule.findUnique({ where: { id } }),
  unknown: unknownRule,
  isSeenBy: (viewer, { source }) => source === null || sees(viewer, source),
  sourcesOf: ({ source }) => sourcesOf(source),
};

/** Events on which a rule is tried when it is switched on. */
const TRIED_NEWEST = 200;

/** `trial`: what a rule that was switched on would have done to the newest events; null = not switched on, or unknown. */
type StoredRule = { id: string; trial: Trial | null };

/**
 * Stores a new rule behind the others. Switched off unless the request says otherwise: a rule is tried first. Throws
 * DomainError `name-taken`, `unknown-source`, `invalid-request`.
 */
export async function createAdmissionRule(deps: RuleDeps, request: RuleRequest, viewer: Viewer): Promise<StoredRule> {
  const { name, source = null, when, do: effect, enabled } = request;
  assertMay(viewer, "change-admission", sourcesOf(source));
  const id = uuidv7(deps.clock.wallMs());
  const body = { when, do: effect };
  const trial = enabled ? await trialOf(deps, { id, source, body }, viewer) : null;
  await storeRule(deps, ADMISSION, { id, change: request, viewer }, async (client, edit) => {
    await assertSource(client, source);
    return { rule: await insertRule(client, id, { name, source, enabled, body }, edit), tried: tried(trial) };
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
  const seen = await deps.lowRate.read((client) => changeable(ADMISSION, client, { id, viewer }));
  const trial = change.enabled ? await trialOf(deps, { id, ...merged(seen, change, viewer) }, viewer) : null;
  // The version of the trial, too: nothing is switched on that was not tried.
  const asked = { id, change: { ...change, version: change.version ?? seen.version }, viewer };
  await changeRule(deps, ADMISSION, asked, async (client, stored, edit) => {
    const columns = merged(stored, change, viewer);
    if (columns.source !== stored.source) await assertSource(client, columns.source);
    const edited = [change.name, change.source, change.when, change.do].some((value) => value !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    return {
      action: edited || change.enabled === undefined ? "changed" : enabled ? "enabled" : "disabled",
      rule: await updateRule(client, stored, { ...columns, enabled, edited }, edit),
      tried: tried(trial),
    };
  });
  return { id, trial };
}

/** Deletes a rule. Its versions stay: events name them. Throws DomainError `unknown-rule`. */
export const deleteAdmissionRule = deletionOf(ADMISSION);

/** The rule as a change leaves it. Throws DomainError `invalid-request`, `forbidden`. */
function merged(
  stored: AdmissionRule,
  { name, source = stored.source, when, do: effect }: RuleChange,
  viewer: Viewer,
): { name: string; source: string | null; body: RuleBody } {
  if (source !== stored.source) assertMay(viewer, "change-admission", sourcesOf(source));
  const old = stored.body as Partial<RuleBody>;
  const read = readRuleBody({ when: when ?? old.when, do: effect ?? old.do });
  if ("faults" in read) throw invalidFields(read.faults);
  return { name: name ?? stored.name, source, body: read.body };
}

function sourcesOf(source: string | null): "all" | string[] {
  return source === null ? "all" : [source];
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
