import { readGroupsMeant } from "@/lib/events/groups/aliases/aliases.read";
import { advanceAliases, storeAliases } from "@/lib/events/groups/aliases/aliases.write";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { regroupEvents } from "@/lib/events/groups/aliases/regroup-events";
import { type GroupMerged, type GroupMergeRequest, unknownGroup } from "@/lib/events/groups/groups.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { invalidFields } from "@/lib/platform/plain/problem.pure";
import { EXAMINED_AGAIN, groupsMeant } from "@/lib/selection/aliases.sql";

type MergeDeps = Pick<Deps, "db" | "clock">;
type Known = { errorCode: string; pattern: string; sources: string[] };

/**
 * Merges a group into another: what is parked moves, and what is parked later belongs to the other. Both must be of one error
 * code, since a filter by error code finds its events by their groups. Throws DomainError `forbidden` where the viewer does not
 * see all events of both, `unknown-group`, `invalid-request`.
 */
export async function mergeGroup(
  { db, clock }: MergeDeps,
  { fingerprint, request: { into, reason } }: { fingerprint: string; request: GroupMergeRequest },
  viewer: Viewer,
): Promise<GroupMerged> {
  const merged = await inTransaction(db, async (tx) => {
    await advanceAliases(tx);
    const [from, target] = await readGroupsMeant(tx, [fingerprint, into]);
    const [group, other] = [await changeable(tx, viewer, from!), await changeable(tx, viewer, target!)];
    if (from === target) throw invalidFields([{ field: "into", detail: "must name another group: it names this one" }]);
    if (group.errorCode !== other.errorCode) {
      const detail = `has the error code ${other.errorCode}, and this group ${group.errorCode}: only groups of one error code can be merged`;
      throw invalidFields([{ field: "into", detail }]);
    }
    const alias = {
      fingerprint: from!,
      target: target!,
      reason: "merge",
      pattern: group.pattern,
      note: reason,
    } as const;
    await storeAliases(tx, [alias], viewer.name);
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "group.merged", subjectId: from!, reason },
      ...{ after: { into: target }, atMs: clock.wallMs() },
    });
    return { fingerprint: from!, into: target! };
  });
  // Best effort: the merge is committed, and the worker moves what is left.
  await moveGroups(db, { only: [merged.fingerprint] }).catch(() => 0);
  return merged;
}

/**
 * Splits a group off again that was merged into another, or that a storm has joined: the events that the rules and the other aliases
 * put into it go back in the background, new ones belong to it, and no storm takes it again. What pointed to it before its merge
 * comes along. The history of arrivals stays where it was counted. Throws DomainError `forbidden` where the viewer does not see
 * all events of the group that it is in, `unknown-group` for one that is in no other.
 */
export async function splitGroup(
  { db, clock, log }: MergeDeps & Pick<Deps, "log">,
  fingerprint: string,
  viewer: Viewer,
): Promise<void> {
  const from = await inTransaction(db, async (tx) => {
    await advanceAliases(tx);
    const [alias] = await tx.query<{ target: string; pattern: string }>(
      `select target, pattern from group_aliases
        where fingerprint = $1 and target <> fingerprint and reason in ('merge', 'storm') and family is null`,
      [fingerprint],
    );
    const [meant] = await readGroupsMeant(tx, [fingerprint]);
    await changeable(tx, viewer, meant!);
    if (!alias) throw unknownGroup(fingerprint);
    const { target, pattern } = alias;
    await storeAliases(tx, [{ fingerprint, target: fingerprint, reason: "split", pattern, note: null }], viewer.name);
    await tx.run("update group_aliases set target = $1, via = null where via = $1 and target = $2", [
      fingerprint,
      target,
    ]);
    // What is still to be moved there is examined where it is.
    await tx.run(
      `update dlq_groups set grouping_version = ${EXAMINED_AGAIN}, examined = null
        where fingerprint = any(${groupsMeant("array[$1::text]", { unmoved: true })})`,
      [target],
    );
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "group.split", subjectId: fingerprint },
      ...{ before: { into: target }, atMs: clock.wallMs() },
    });
    return target;
  });
  // Best effort: the split is committed, and the worker moves what is left.
  await regroupEvents({ db, log }, { only: [from] }).catch(() => 0);
}

/** The group, when the viewer may change it: they see each source that it has events of, also of those that are still to be moved. */
async function changeable(db: Queryable, viewer: Viewer, fingerprint: string): Promise<Known> {
  const [group] = await db.query<Known>(
    `select g.error_code as "errorCode", g.message_pattern as pattern, array(
        select s.name from dlq_group_levels l join sources s on s.id = l.source_id
         where l.fingerprint = any(${groupsMeant("array[g.fingerprint]", { unmoved: true })})
         group by s.name having sum(l.n) > 0) as sources
       from dlq_groups g where g.fingerprint = $1`,
    [fingerprint],
  );
  const seen = (group?.sources ?? []).filter((name) => viewer.sources === "all" || viewer.sources.includes(name));
  if (!group || seen.length === 0) throw unknownGroup(fingerprint);
  // A source that the viewer does not see is not named.
  assertMay(viewer, "ignore", seen.length === group.sources.length ? seen : "all");
  return group;
}
