import { CURRENT_BODY, NEWEST_ERROR } from "@/lib/events/bodies.read";
import { readGroupsMeant } from "@/lib/events/groups/aliases/aliases.read";
import { advanceAliases, lockAliases, storeAliases } from "@/lib/events/groups/aliases/aliases.write";
import { type GroupAliases, groupOf } from "@/lib/events/groups/aliases/group-aliases.pure";
import { type EventMove, moveEvents } from "@/lib/events/groups/aliases/move-events.write";
import { type Fingerprint, fingerprintOf, GROUPING_VERSION, labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import type { AdmissionRecord } from "@/lib/intake/admission/admission.pure";
import { readRulesInForce } from "@/lib/intake/admission/admission-rules.read";
import { holdsRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { inTransaction, retrying } from "@/lib/platform/database/retrying";

/** Events of one transaction, with their stacks. */
const EVENTS_MAX = 250;
const TURNS = 20;
/** Old groups without events that one round is done with. */
const EMPTY_MAX = 5_000;
/** Groups among which the one with most events is looked for. */
const COUNTED_MAX = 50;

/** The version of a group whose events are examined again although the rules are the same: one was split off. */
export const EXAMINED_AGAIN = 0;

/** How far a group has been examined, in the order of ids, and how many of its events belong to which groups now. */
type Examined = { after: string; groups: Record<string, number>; family: string | null };
type OldGroup = {
  fingerprint: string;
  version: number;
  pattern: string;
  examined: Examined | null;
  target: string | null;
};

/**
 * Computes the groups of parked events again where earlier rules made them, or where a group was split: from the newest error of each
 * event, and through the aliases. Each transaction examines some events of one group and notes how far it is. A group that
 * all its events have left stands for the one that got most of them. Returns the number of events that were moved.
 */
export async function regroupEvents(db: Db, { turns = TURNS } = {}): Promise<number> {
  let moved = 0;
  for (let turn = 0; turn < turns; turn++) {
    const n = await inTransaction(db, regroupSome);
    if (n === null) break;
    moved += n;
  }
  await retrying(() => passEmpty(db), { pause: db.pause });
  return moved;
}

const HAS_EVENTS = `exists (select from dlq_group_levels l where l.fingerprint = g.fingerprint
  group by l.source_id, l.status having sum(l.n) > 0)`;

/** Of a group without events nothing can be computed: it keeps its name. */
async function passEmpty(db: Db): Promise<void> {
  await db.run(
    `with empty as materialized (
       select fingerprint from dlq_groups g where grouping_version < $1 and not ${HAS_EVENTS}
        order by grouping_version, fingerprint limit ${EMPTY_MAX})
     update dlq_groups g set grouping_version = $1, examined = null from empty where g.fingerprint = empty.fingerprint`,
    [GROUPING_VERSION],
  );
}

/** null = there is nothing to do, or another process does it. */
async function regroupSome(tx: Tx): Promise<number | null> {
  if (!(await holdsRollups(tx))) return null;
  const [group] = await tx.query<OldGroup>(
    `select g.fingerprint, g.grouping_version as version, g.message_pattern as pattern, g.examined,
            nullif(a.target, g.fingerprint) as target
       from dlq_groups g left join group_aliases a on a.fingerprint = g.fingerprint
      where g.grouping_version < $1 order by g.grouping_version, g.last_seen desc, g.fingerprint limit 1`,
    [GROUPING_VERSION],
    { name: "old-group" },
  );
  if (!group) return null;
  if (group.target !== null) {
    // Events of an archive came back into a group for which another one stands: they are moved there.
    await tx.run("update group_aliases set moved_at = null where fingerprint = $1", [group.fingerprint]);
    await endExamination(tx, group.fingerprint, null);
    return 0;
  }
  const { aliases } = await readRulesInForce(tx);
  const events = await readEvents(tx, group);
  const examined = examine(group, events, aliases);
  await insertGroups(tx, examined.found);
  const moved = await moveEvents(tx, examined.moves);
  if (events.length === EVENTS_MAX) {
    await tx.run("update dlq_groups set examined = $2 where fingerprint = $1", [
      group.fingerprint,
      JSON.stringify(examined.state),
    ]);
    return moved;
  }
  await endExamination(tx, group.fingerprint, examined.state.family);
  if (group.version !== EXAMINED_AGAIN) await replaceIfLeft(tx, group, examined.state);
  return moved;
}

type StoredError = {
  id: string;
  source: string;
  errorCode: string;
  firstMs: number;
  bounces: number;
  errorType: string | null;
  errorMessage: string | null;
  errorStack: string | null;
  record: AdmissionRecord | null;
};

/** The next events of the group in the order of their ids. Each source and status is a range of an index. */
function readEvents(tx: Tx, { fingerprint, examined }: OldGroup): Promise<StoredError[]> {
  return tx.query<StoredError>(
    `with kinds as materialized (
       select source_id, status from dlq_group_levels where fingerprint = $1 group by 1, 2 having sum(n) > 0),
     page as materialized (
       select e.id from kinds k cross join lateral (
         select id from dlq_events e
          where e.fingerprint = $1 and e.source_id = k.source_id and e.status = k.status and e.id > $2::uuid
          order by e.id limit ${EVENTS_MAX}) e
        order by e.id limit ${EVENTS_MAX})
     select e.id, s.name as source, e.error_code as "errorCode", e.first_seen as "firstMs", e.bounces, ${NEWEST_ERROR}
       from page join dlq_events e on e.id = page.id join sources s on s.id = e.source_id ${CURRENT_BODY}
      order by e.id`,
    [fingerprint, examined?.after ?? "00000000-0000-0000-0000-000000000000"],
    { name: "events-to-examine" },
  );
}

/** A group that has events of the page, with one of them and the times of the first and the last. */
type FoundGroup = Fingerprint & { errorCode: string; sample: string; firstMs: number; lastMs: number };

function examine({ fingerprint, examined }: OldGroup, events: readonly StoredError[], aliases: GroupAliases) {
  const found = new Map<string, FoundGroup>();
  const moves: EventMove[] = [];
  const state: Examined = {
    after: events.at(-1)?.id ?? examined?.after ?? "",
    groups: { ...examined?.groups },
    family: examined?.family ?? null,
  };
  for (const event of events) {
    const computed = computedGroup(event);
    if (computed.fingerprint === fingerprint) state.family = computed.family;
    const group = groupOf(computed, event.source, aliases);
    const { id, errorCode, firstMs, bounces } = event;
    if (group.fingerprint === fingerprint) continue;
    moves.push({ id, from: fingerprint, to: group.fingerprint, bounces });
    const known = found.get(group.fingerprint);
    const first = Math.min(firstMs, known?.firstMs ?? firstMs);
    const last = Math.max(firstMs, known?.lastMs ?? firstMs);
    // The text of a group is that of its own failures, where it has some.
    const text = known && computed.fingerprint !== group.fingerprint ? known : group;
    found.set(group.fingerprint, { ...text, errorCode, sample: id, firstMs: first, lastMs: last });
    if (group.fingerprint in state.groups || Object.keys(state.groups).length < COUNTED_MAX) {
      state.groups[group.fingerprint] = (state.groups[group.fingerprint] ?? 0) + 1;
    }
  }
  return { found: [...found.values()], moves, state };
}

function computedGroup({ errorCode, errorType, errorMessage, errorStack, record }: StoredError): Fingerprint {
  if (record?.group) return labelledGroup(errorCode, record.group);
  return fingerprintOf({ errorCode, error: { type: errorType, message: errorMessage, stack: errorStack } });
}

async function insertGroups(tx: Tx, groups: readonly FoundGroup[]): Promise<void> {
  const sorted = groups.toSorted((one, other) => (one.fingerprint < other.fingerprint ? -1 : 1));
  await tx.run(
    `insert into dlq_groups
       (fingerprint, error_code, exception_type, message_pattern, first_frame, family, sample_event, first_seen, last_seen,
        grouping_version)
     select fingerprint, error_code, exception_type, pattern, frame, family, sample, to_timestamp(first / 1000), to_timestamp(last / 1000),
            ${GROUPING_VERSION}
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::float8[], $9::float8[])
              as g (fingerprint, error_code, exception_type, pattern, frame, family, sample, first, last)
     on conflict (fingerprint) do update
       set first_seen = least(dlq_groups.first_seen, excluded.first_seen), last_seen = greatest(dlq_groups.last_seen, excluded.last_seen)`,
    [
      sorted.map(({ fingerprint }) => fingerprint),
      sorted.map(({ errorCode }) => errorCode),
      sorted.map(({ exceptionType }) => exceptionType),
      sorted.map(({ pattern }) => pattern),
      sorted.map(({ firstFrame }) => firstFrame),
      sorted.map(({ family }) => family),
      sorted.map(({ sample }) => sample),
      sorted.map(({ firstMs }) => firstMs),
      sorted.map(({ lastMs }) => lastMs),
    ],
    { name: "insert-groups" },
  );
  // Where another group stands for one of them, its events are to be moved on.
  await tx.run(
    "update group_aliases set moved_at = null where fingerprint = any($1::text[]) and target <> fingerprint",
    [sorted.map(({ fingerprint }) => fingerprint)],
  );
}

/** `family`: of those of its events that stay; null = none does. */
async function endExamination(tx: Tx, fingerprint: string, family: string | null): Promise<void> {
  await tx.run(
    "update dlq_groups set grouping_version = $2, examined = null, family = coalesce($3, family) where fingerprint = $1",
    [fingerprint, GROUPING_VERSION, family],
  );
}

/** A group that all its events have left stands for the one that got most of them. */
async function replaceIfLeft(tx: Tx, { fingerprint, pattern }: OldGroup, { groups }: Examined): Promise<void> {
  const [most] = Object.entries(groups).sort(([, one], [, other]) => other - one);
  if (!most) return;
  await lockAliases(tx);
  const [left] = await tx.query(`select from dlq_groups g where fingerprint = $1 and not ${HAS_EVENTS}`, [fingerprint]);
  const [target] = await readGroupsMeant(tx, [most[0]]);
  if (!left || target === undefined || target === fingerprint) return;
  const alias = { fingerprint, target, reason: "rules", pattern, note: null } as const;
  // New events never have the old fingerprint: intake needs to know only of what pointed to it.
  if ((await storeAliases(tx, [alias], "worker")) > 0) await advanceAliases(tx);
}
