import { maskNullable } from "@/lib/guard/masking/mask.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { type Edit, Noun, type NounDeps } from "@/lib/guard/noun";
import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { RuleBody } from "@/lib/intake/admission/admission.pure";
import {
  type ChangedRule,
  RULES_PER_SOURCE_MAX,
  type RuleChange,
  type RuleCounts,
  type RuleDetail,
  type RuleList,
  type RuleOut,
  type RuleRequest,
  type RuleRow,
  readRuleBody,
  ruleRowSchema,
  type Trial,
} from "@/lib/intake/admission/admission.shapes";
import { type TryDeps, tryAdmissionRule } from "@/lib/intake/admission/try-admission-rule";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { advanceRevision, assertSources, LAST, moveRule, newRule } from "@/lib/rules/rules.write";

/** Counts of `t.id` by outcome since the full hour before `age` ago, in the sources that `$1` holds; null = in all. */
function countsSince(age: string): string {
  return `(select jsonb_object_agg(outcome, n) from (
    select c.outcome, sum(c.n) as n from admission_counts c
     where c.rule_id = t.id and c.hour >= date_trunc('hour', now() - interval '${age}', 'UTC')
       and ($1::text[] is null or c.source_id = any(array(select id from sources where name = any($1))))
     group by c.outcome) n)`;
}

const ADMISSION_RULES = new Noun<RuleRow, "lastHour" | "lastDay", RuleOut>({
  table: "admission_rules",
  schema: ruleRowSchema,
  computed: { lastHour: countsSince("1 hour"), lastDay: countsSince("24 hours") },
  // A rule of every source concerns each viewer.
  seen: "($1::text[] is null or t.source is null or t.source = any($1))",
  order: "t.position, t.id",
  key: "id",
  subject: "rule",
  verbs: { create: "created", remove: "deleted" },
  needs: "change-admission",
  sourcesOf,
  audited: ({ name, source, position, enabled, version, body }) => ({
    ...{ name, source, position, enabled, version },
    ...(body as object),
  }),
  unknown: (id) => [
    "unknown-rule",
    `There is no rule ${id}: it may have been deleted`,
    "list the rules with GET /api/v1/admission-rules",
  ],
  taken: ({ name }) => nameTaken("rule", name),
  enter: advanceRevision("admission_revision"),
  out: (rows) => rows.map(ruleOut),
});

const NO_COUNTS: RuleCounts = { matched: 0, dropped: 0, failed: 0 };

function ruleOut({ body, lastHour, lastDay, ...row }: RuleRow): RuleOut {
  const read = readRuleBody(body);
  return {
    ...row,
    ...("body" in read ? { ...read.body, fault: null } : { when: null, do: null, fault: faultText(read.faults) }),
    lastHour: { ...NO_COUNTS, ...lastHour },
    lastDay: { ...NO_COUNTS, ...lastDay },
  };
}

function faultText([fault]: FieldError[]): string {
  return `${fault!.field || "rule"}: ${fault!.detail}`;
}

/** The rules in their order. */
export async function listAdmissionRules(db: Queryable, viewer: Viewer): Promise<RuleList> {
  const scope = sourceScope(viewer);
  const [items, superseded] = await Promise.all([
    ADMISSION_RULES.list(db, viewer),
    db.query<{ lastHour: number; lastDay: number }>(
      `select coalesce(sum(c.n) filter (where c.hour >= date_trunc('hour', now() - interval '1 hour', 'UTC')), 0)::bigint as "lastHour",
              coalesce(sum(c.n), 0)::bigint as "lastDay"
         from admission_counts c
        where c.rule_id is null and c.hour >= date_trunc('hour', now() - interval '24 hours', 'UTC')
          and ($1::text[] is null or c.source_id = any(array(select id from sources where name = any($1))))`,
      [scope],
    ),
  ]);
  return { items, superseded: superseded[0]! };
}

const SAMPLES_SHOWN = 20;

/** One rule, with messages that it dropped or failed on. Throws DomainError `unknown-rule`. */
export async function readAdmissionRule(db: Queryable, viewer: Viewer, id: string): Promise<RuleDetail> {
  const scope = sourceScope(viewer);
  const rule = await ADMISSION_RULES.read(db, viewer, id);
  const samples = await db.query<RuleDetail["samples"][number]>(
    `select a.id, a.at, a.outcome, s.name as source, a.event_id as "eventId", a.error_code as "errorCode",
            a.error_type as "errorType", a.error_message as "errorMessage", a.fault
       from admission_samples a join sources s on s.id = a.source_id
      where a.rule_id = $2 and ($1::text[] is null or s.name = any($1))
      order by a.id desc limit ${SAMPLES_SHOWN}`,
    [scope, id],
    { isoTimes: true },
  );
  const masks = await readMasks(db);
  return {
    ...rule,
    samples: samples.map((sample) => ({
      ...sample,
      errorMessage: maskNullable(sample.errorMessage, masks.of(sample.source)),
    })),
  };
}

type RuleDeps = NounDeps & TryDeps;

/** Events on which a rule is tried when it is switched on. */
const TRIED_NEWEST = 200;

/**
 * Stores a new rule behind the others. Switched off unless the request says otherwise: a rule is tried first. Throws
 * DomainError `name-taken`, `unknown-source`, `invalid-request`.
 */
export async function createAdmissionRule(deps: RuleDeps, request: RuleRequest, viewer: Viewer): Promise<ChangedRule> {
  const { name, source = null, when, do: effect, enabled, reason } = request;
  assertMay(viewer, "change-admission", sourcesOf({ source }) ?? "all");
  const body = { when, do: effect };
  const trial = enabled ? await trialOf(deps, { source, body }, viewer) : null;
  const set = { name, source, enabled, body };
  const rule = await ADMISSION_RULES.create(deps, { set, reason, beside: tried(trial) }, viewer, async (tx, edit) => {
    await assertSource(tx, source);
    const columns = await newRule(tx, "admission_rules");
    await insertVersion(tx, { ...set, ...columns, id: edit.id }, { ...edit, reason });
    return columns;
  });
  return { ...rule, trial };
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
): Promise<ChangedRule> {
  assertMay(viewer, "change-admission");
  const { position, reason } = change;
  const seen = await deps.db.transaction((tx) => ADMISSION_RULES.lock(tx, viewer, id));
  const trial = change.enabled ? await trialOf(deps, { id, ...merged(seen, change, viewer) }, viewer) : null;
  // The version of the trial, too: nothing is switched on that was not tried.
  const asked = { key: id, version: change.version ?? seen.version, reason };
  const rule = await ADMISSION_RULES.change(deps, asked, viewer, async (tx, stored, edit) => {
    const columns = merged(stored, change, viewer);
    if (columns.source !== stored.source) await assertSource(tx, columns.source);
    const edited = [change.name, change.source, change.when, change.do].some((value) => value !== undefined);
    const enabled = change.enabled ?? stored.enabled;
    const version = stored.version + (edited ? 1 : 0);
    if (edited) await insertVersion(tx, { ...columns, version, id }, { ...edit, reason });
    return {
      set: {
        ...{ ...columns, enabled, version },
        position: position === undefined ? undefined : await moveRule(tx, "admission_rules", id, position),
      },
      verb: edited || change.enabled === undefined ? "changed" : enabled ? "enabled" : "disabled",
      beside: tried(trial),
    };
  });
  return { ...rule, trial };
}

/** Deletes a rule. Its versions stay: events name them. Throws DomainError `unknown-rule`. */
export async function deleteAdmissionRule(
  deps: NounDeps,
  { id, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-admission");
  await ADMISSION_RULES.remove(deps, { key: id, reason }, viewer, (tx) => moveRule(tx, "admission_rules", id, LAST));
}

/** The rule as a change leaves it. Throws DomainError `invalid-request`, `forbidden`. */
function merged(
  stored: Pick<RuleRow, "name" | "source" | "body">,
  { name, source = stored.source, when, do: effect }: RuleChange,
  viewer: Viewer,
): { name: string; source: string | null; body: RuleBody } {
  if (source !== stored.source) assertMay(viewer, "change-admission", sourcesOf({ source }) ?? "all");
  const old = stored.body as Partial<RuleBody>;
  const read = readRuleBody({ when: when ?? old.when, do: effect ?? old.do });
  if ("faults" in read) throw invalidFields(read.faults);
  return { name: name ?? stored.name, source, body: read.body };
}

/** null = every source. */
function sourcesOf({ source }: { source: string | null }): string[] | null {
  return source === null ? null : [source];
}

async function assertSource(tx: Tx, source: string | null): Promise<void> {
  if (source !== null) await assertSources(tx, [source]);
  const [row] = await tx.query<{ n: number }>(
    "select count(*)::int as n from admission_rules where source is not distinct from $1",
    [source],
  );
  if (row!.n < RULES_PER_SOURCE_MAX) return;
  const whose = source === null ? "There are" : `${source} has`;
  throw new DomainError(
    "invalid-request",
    `source: ${whose} ${RULES_PER_SOURCE_MAX} rules${source === null ? " for every source" : ""}: delete one first, or combine two`,
    { fields: [{ field: "source", detail: `at most ${RULES_PER_SOURCE_MAX} rules` }] },
  );
}

async function insertVersion(
  tx: Tx,
  { id, version, name, source, body }: Pick<RuleRow, "id" | "version" | "name" | "source" | "body">,
  { actor, atMs, reason }: Edit & { reason: string },
): Promise<void> {
  await tx.run(
    `insert into admission_rule_versions (rule_id, version, name, source, body, reason, created_by, created_at)
     values ($1, $2, $3, $4, $5::jsonb, $6, $7, to_timestamp($8::float8 / 1000))`,
    [id, version, name, source, JSON.stringify(body), reason, actor, atMs],
  );
}

/** null = the events could not be read in time: the rule is switched on all the same. */
async function trialOf(
  deps: TryDeps,
  { id, source, body }: { id?: string; source: string | null; body: RuleBody },
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
