import { advanceAliases, lockAliases, type NewAlias, storeAliases } from "@/lib/events/groups/aliases/aliases.write";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import {
  clusterPatterns,
  matchesTemplate,
  type Template,
  tokensOf,
} from "@/lib/events/groups/aliases/storm-template.pure";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { hash64 } from "@/lib/platform/plain/hash.pure";
import { GROUPING_VERSION } from "@/lib/selection/aliases.sql";

/** More new groups than this of one source and family, with one template, are a storm. A person reads some tens of groups. */
const STORM_GROUPS = 50;
/** New groups are those of this time: some evaluations of the alerts, and less than the hour in which a group alerts as new. */
const NEW_SINCE = "now() - interval '10 minutes'";
/** Sources and families of one evaluation. */
const CASES_MAX = 20;
/** Groups of a case that one evaluation reads; the next one reads the rest. */
const GROUPS_MAX = 10_000;
/**
 * Of these it compares so many with each other, which takes a tenth of a second; the others only with what these have in
 * common.
 */
const COMPARED_MAX = 500;
/** Intake keeps all templates in memory. */
const TEMPLATES_MAX = 1_000;
const WORKER = "worker";

type Case = { family: string; sourceId: string; source: string };
type Group = { fingerprint: string; pattern: string };
/** The template of a storm that began before. */
type Known = { key: string; target: string; template: string };

/**
 * Storms of shapes: where an outage makes more than fifty groups of one source, error code, type and frame within ten minutes,
 * those whose messages have a template become one group, named by the template, with the varying part as `<*>`. What
 * arrives later and matches belongs to it. Groups that were there before stay as they are, unless they are as many.
 * Returns the number of groups that were joined.
 */
export async function joinStorms({ db, clock }: Pick<Deps, "db" | "clock">): Promise<number> {
  const cases = await db.query<Case>(
    `select g.family, l.source_id as "sourceId", s.name as source
       from dlq_groups g join dlq_group_levels l on l.fingerprint = g.fingerprint join sources s on s.id = l.source_id
      where g.first_seen > ${NEW_SINCE} and g.family is not null
        and not exists (select from group_aliases a where a.fingerprint = g.fingerprint)
      group by 1, 2, 3
     having count(distinct g.fingerprint) > ${STORM_GROUPS}
         or exists (select from group_aliases a where a.family = g.family and a.source_id = l.source_id)
      order by count(distinct g.fingerprint) desc, 1, 2 limit ${CASES_MAX}`,
    [],
    { name: "storms-of-shapes" },
  );
  let joined = 0;
  for (const each of cases) {
    const members = await inTransaction(db, (tx) => joinStorm(tx, each, clock.wallMs()));
    // Best effort: alerts and lists add up what is not moved yet, and the worker moves it.
    if (members.length > 0) await moveGroups(db, { only: members }).catch(() => 0);
    joined += members.length;
  }
  return joined;
}

/** Returns the fingerprints of the groups that were joined. */
async function joinStorm(tx: Tx, storm: Case, atMs: number): Promise<string[]> {
  await lockAliases(tx);
  const known = await tx.query<Known>(
    `select fingerprint as key, target, template from group_aliases where family = $1 and source_id = $2
      order by created_at, fingerprint`,
    [storm.family, storm.sourceId],
  );
  const groups = await readGroups(tx, storm, "new");
  const [matching, others] = matchKnown(groups, known);
  // An older group may match two templates: the first one decides.
  const aliases = new Map<string, NewAlias>();
  const add = (alias: NewAlias) => aliases.has(alias.fingerprint) || aliases.set(alias.fingerprint, alias);
  for (const { group, target } of matching) add(aliasOf(group, target));
  const templates = known.map(({ template }) => tokensOf(template));
  const clusters = clusterPatterns(others.slice(0, COMPARED_MAX), templates);
  const shared = clusters.filter(({ members }) => members.length > 1);
  for (const group of others.slice(COMPARED_MAX)) {
    const tokens = tokensOf(group.pattern);
    shared.find(({ template }) => matchesTemplate(template, tokens))?.members.push(group);
  }
  for (const [index, { template, members }] of clusters.entries()) {
    const former = known[index];
    if (members.length <= STORM_GROUPS || (!former && (await isFull(tx)))) continue;
    const older = (await readGroups(tx, storm, "older")).filter(({ pattern }) =>
      matchesTemplate(template, tokensOf(pattern)),
    );
    const all = older.length > STORM_GROUPS ? [...members, ...older] : members;
    const target = await storeStorm(tx, storm, { template, members: all, former });
    for (const group of all) add(aliasOf(group, target));
    if (all === members) for (const group of older) add(keptApart(group));
    await appendAudit(tx, {
      ...{ actor: WORKER, action: "group.storm-joined", subjectId: target },
      ...{ after: { source: storm.source, groups: all.length }, atMs },
    });
  }
  if (aliases.size === 0) return [];
  const made = [...aliases.values()];
  await storeAliases(tx, made, WORKER);
  await advanceAliases(tx);
  return made.flatMap(({ fingerprint, target }) => (fingerprint === target ? [] : [fingerprint]));
}

const aliasOf = ({ fingerprint, pattern }: Group, target: string): NewAlias => ({
  ...{ fingerprint, target, reason: "storm", pattern, note: null },
});

/** Older than the storm: its template does not take it. */
const keptApart = ({ fingerprint, pattern }: Group): NewAlias => ({
  ...{ fingerprint, target: fingerprint, reason: "split", pattern, note: null },
});

/** Groups of the family that no alias is about, and that no other source has: the template of a storm holds for its source alone. */
function readGroups(tx: Tx, { family, sourceId }: Case, age: "new" | "older"): Promise<Group[]> {
  const levels = "select from dlq_group_levels l where l.fingerprint = g.fingerprint and l.source_id";
  return tx.query<Group>(
    `select g.fingerprint, g.message_pattern as pattern from dlq_groups g
      where g.family = $1 and first_seen ${age === "new" ? ">" : "<="} ${NEW_SINCE}
        and exists (${levels} = $2) and not exists (${levels} <> $2)
        and not exists (select from group_aliases a where a.fingerprint = g.fingerprint)
      order by g.last_seen desc, g.fingerprint limit ${GROUPS_MAX}`,
    [family, sourceId],
  );
}

/** Groups that a batch made whose process did not know the template yet, with the group of their storm; and the others. */
function matchKnown(groups: readonly Group[], known: readonly Known[]) {
  const templates = known.map(({ target, template }) => ({ target, template: tokensOf(template) }));
  const matching: { group: Group; target: string }[] = [];
  const others: Group[] = [];
  for (const group of groups) {
    const tokens = tokensOf(group.pattern);
    const target = templates.find(({ template }) => matchesTemplate(template, tokens))?.target;
    if (target === undefined) others.push(group);
    else matching.push({ group, target });
  }
  return [matching, others] as const;
}

async function isFull(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ n: number }>("select count(*) as n from group_aliases where family is not null");
  return row!.n >= TEMPLATES_MAX;
}

type Storm = { template: Template; members: readonly Group[]; former: Known | undefined };

/** Stores the group of a storm and its template; of one that is known the template is wider now. Returns the group. */
async function storeStorm(tx: Tx, { family, sourceId }: Case, { template, members, former }: Storm): Promise<string> {
  const text = template.join("");
  const hash = (what: string) => hash64([what, family, sourceId, text].join("\u0001"));
  const target = former?.target ?? hash("storm");
  if (former) {
    await tx.run("update dlq_groups set message_pattern = $3 where fingerprint = $1 and message_pattern = $2", [
      target,
      former.template,
      text,
    ]);
    await tx.run(
      "update group_aliases set fingerprint = $2, pattern = $3, template = $3 where fingerprint = $1 and ($1 = $2 or not exists (select from group_aliases where fingerprint = $2))",
      [former.key, hash("template"), text],
    );
    return target;
  }
  await tx.run(
    `insert into dlq_groups
       (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen, grouping_version)
     select $1, min(error_code), min(exception_type), $2, min(first_frame), (array_agg(sample_event order by last_seen desc))[1],
            min(first_seen), max(last_seen), ${GROUPING_VERSION}
       from dlq_groups where fingerprint = any($3::text[])
     on conflict (fingerprint) do nothing`,
    [target, text, members.map(({ fingerprint }) => fingerprint)],
  );
  await tx.run(
    `insert into group_aliases (fingerprint, target, reason, pattern, family, source_id, template, created_by, moved_at)
     values ($1, $2, 'storm', $3, $4, $5, $3, $6, now()) on conflict (fingerprint) do nothing`,
    [hash("template"), target, text, family, sourceId, WORKER],
  );
  return target;
}
