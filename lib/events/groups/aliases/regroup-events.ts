import { readDecidingAliases, readGroupsMeant } from "@/lib/events/groups/aliases/aliases.read";
import { advanceAliases, lockAliases, moveAgain, storeAliases } from "@/lib/events/groups/aliases/aliases.write";
import { type GroupAliases, groupOf } from "@/lib/events/groups/aliases/group-aliases.pure";
import { type EventMove, moveEvents } from "@/lib/events/groups/aliases/move-events.write";
import { TURNS_AT_ONCE } from "@/lib/events/groups/aliases/move-groups";
import { type Fingerprint, fingerprintOf, labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Db, Tx } from "@/lib/platform/database/db";
import { OPEN_TRANSACTIONS } from "@/lib/platform/database/open-transactions.sql";
import { inTransaction } from "@/lib/platform/database/retrying";
import { UUID_MIN } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { sqlState } from "@/lib/platform/postgres-pool";
import { EXAMINED_AGAIN, GROUPING_VERSION, hasEvents } from "@/lib/selection/aliases.sql";
import { CURRENT_BODY, NEWEST_ERROR } from "@/lib/selection/bodies.read";
import { IN_RANGE, rangesOf } from "@/lib/selection/event-kinds.read";
import type { AdmissionRecord } from "@/lib/states/admission-mark.pure";
import { holdsRollups } from "@/lib/states/rollup.write";

/** Events of one transaction, with their stacks. */
const EVENTS_MAX = 250;
/** Groups of one transaction: many have a single event. */
const GROUPS_MAX = 250;
const TURNS = 20;
/** Groups among which the one with most events is looked for. */
const COUNTED_MAX = 50;
/** The pause before a failed examination is retried, with half as many events at once. */
const PUT_OFF = "10 minutes";
/** How often a split group is checked while transactions are open that began before the split. */
const AWAIT = "10 seconds";

/** How far a group has been examined, in the order of ids, and how many of its events belong to which groups now. */
type Examined = {
  after: string;
  groups: Record<string, number>;
  family: string | null;
  /** Of a split group: transactions that may still park into it by the old aliases. It is examined once more after they have ended. */
  awaits?: string[];
  /** The most events of one transaction, after larger ones failed. */
  most?: number;
};
type OldGroup = {
  fingerprint: string;
  version: number;
  pattern: string;
  examined: Examined;
  target: string | null;
  events: number;
  /** Of a split group: the transactions that are open. */
  open: string[] | null;
};
type RegroupDeps = Pick<Deps, "db" | "log">;
/** `left`: groups that are not fully examined, unreached ones first. */
type Turn = { moved: number; left: string[] };

/**
 * Computes the groups of parked events again where earlier rules made them, or where a group was split: from the newest error of each
 * event, and through the aliases. Each transaction examines some events of several groups and records its progress; no group blocks
 * the others by its size or by a failure. A group that all its events have left becomes an alias of the one that got
 * most of them. `only`: these groups, at once. Returns the number of events moved.
 */
export async function regroupEvents(deps: RegroupDeps, { only }: { only?: readonly string[] } = {}): Promise<number> {
  const turns = only ? TURNS_AT_ONCE : TURNS;
  let queue = await readQueue(deps.db, only ?? null, turns * GROUPS_MAX);
  let moved = 0;
  for (let turn = 0; turn < turns && queue.length > 0; turn++) {
    const done = await examineHalving(deps, queue.slice(0, GROUPS_MAX));
    if (done === null) break;
    moved += done.moved;
    queue = [...queue.slice(GROUPS_MAX), ...done.left];
  }
  return moved;
}

/** Unexamined groups come first, the most recent of them at the front. */
async function readQueue(db: Db, only: readonly string[] | null, most: number): Promise<string[]> {
  const rows = await db.query<{ fingerprint: string }>(
    `select fingerprint from dlq_groups
      where grouping_version < $1 and ($2::text[] is null or fingerprint = any($2))
        and coalesce((examined ->> 'notBefore')::timestamptz <= now(), true)
      order by grouping_version > ${EXAMINED_AGAIN}, examined is not null, last_seen desc, fingerprint limit $3`,
    [GROUPING_VERSION, only, most],
    { name: "old-groups" },
  );
  return rows.map(({ fingerprint }) => fingerprint);
}

/**
 * When an examination fails, the groups are halved until the failing one is alone, which is postponed. null = another process
 * is examining.
 */
async function examineHalving(deps: RegroupDeps, names: readonly string[]): Promise<Turn | null> {
  const { db } = deps;
  try {
    return await inTransaction(db, (tx) => examineSome(tx, names));
  } catch (error) {
    if (error instanceof DomainError && error.code === "store-unavailable") throw error;
    if (names.length === 1) {
      await putOff(deps, names[0]!, error);
      return { moved: 0, left: [] };
    }
    const middle = names.length >> 1;
    const first = await examineHalving(deps, names.slice(0, middle));
    const second = await examineHalving(deps, names.slice(middle));
    return first && second && { moved: first.moved + second.moved, left: [...first.left, ...second.left] };
  }
}

const EVENTS_OF_GROUP =
  "(select coalesce(sum(l.n), 0) from dlq_group_levels l where l.fingerprint = g.fingerprint)::bigint";
const NOTHING_EXAMINED: Examined = { after: UUID_MIN, groups: {}, family: null };

async function putOff({ db, log }: RegroupDeps, fingerprint: string, error: unknown): Promise<void> {
  log.warn({ err: error, fingerprint }, `the events of a group could not be grouped again: retrying in ${PUT_OFF}`);
  await db.run(
    `update dlq_groups g
        set examined = $3::jsonb || coalesce(examined, '{}') || jsonb_build_object(
              'fault', $4::text, 'notBefore', now() + interval '${PUT_OFF}',
              'most', greatest(1, least(coalesce((examined ->> 'most')::int, ${EVENTS_MAX}), ${EVENTS_OF_GROUP}) / 2))
      where fingerprint = $1 and grouping_version < $2`,
    [fingerprint, GROUPING_VERSION, JSON.stringify(NOTHING_EXAMINED), codeOf(error)],
  );
}

/** The code only: the message may quote an event, and is in the log. */
function codeOf(error: unknown): string {
  if (error instanceof DomainError) return error.code;
  return sqlState(error) ?? (error instanceof Error ? error.name : "unknown");
}

/** Examines the next events of these groups, as far as one page holds them. null = another process does it. */
async function examineSome(tx: Tx, names: readonly string[]): Promise<Turn | null> {
  if (!(await holdsRollups(tx))) return null;
  // Aliases must not change during the examination.
  await lockAliases(tx);
  const groups = await readOldGroups(tx, names);
  // A group without events keeps its name. Events of an aliased group from earlier rules were restored from an archive: they are
  // moved to the target.
  const passed = groups.filter(
    ({ events, target, version }) => events === 0 || (target !== null && version !== EXAMINED_AGAIN),
  );
  await moveAgain(
    tx,
    passed.map(({ fingerprint }) => fingerprint),
  );
  const own = groups.filter((group) => !passed.includes(group));
  const aliases = await readDecidingAliases(tx);
  const found = new Map<string, FoundGroup>();
  const pages = (await readPages(tx, own)).map((page) => examine(page, aliases, found));
  await insertGroups(tx, [...found.values()]);
  const moved = await moveEvents(
    tx,
    pages.flatMap(({ moves }) => moves),
  );
  const ended = pages.filter(({ next }) => next === "end");
  const going = pages.filter(({ next }) => next !== "end");
  await noteExamined(tx, going);
  await endExamination(tx, [...ended, ...passed.map((group) => ({ group, state: group.examined }))]);
  await replaceLeft(tx, ended);
  const reached = new Set(pages.map(({ group }) => group.fingerprint));
  const later = own.flatMap(({ fingerprint }) => (reached.has(fingerprint) ? [] : fingerprint));
  return { moved, left: [...later, ...going.flatMap(({ group, next }) => (next === "now" ? group.fingerprint : []))] };
}

function readOldGroups(tx: Tx, names: readonly string[]): Promise<OldGroup[]> {
  return tx.query<OldGroup>(
    `with open as materialized (select ${OPEN_TRANSACTIONS} as ids)
     select g.fingerprint, g.grouping_version as version, g.message_pattern as pattern, coalesce(g.examined, $3::jsonb) as examined,
            nullif(a.target, g.fingerprint) as target, case when g.grouping_version = ${EXAMINED_AGAIN} then open.ids end as open,
            ${EVENTS_OF_GROUP} as events
       from unnest($1::text[]) with ordinality w (name, n) join dlq_groups g on g.fingerprint = w.name cross join open
       left join group_aliases a on a.fingerprint = g.fingerprint
      where g.grouping_version < $2 order by w.n`,
    [names, GROUPING_VERSION, JSON.stringify(NOTHING_EXAMINED)],
    { name: "groups-to-examine" },
  );
}

type StoredError = {
  id: string;
  group: string;
  source: string;
  errorCode: string;
  firstMs: number;
  bounces: number;
  errorType: string | null;
  errorMessage: string | null;
  errorStack: string | null;
  record: AdmissionRecord | null;
};
/** Events of a group; `whole`: there are no more. */
type Page = { group: OldGroup; events: StoredError[]; whole: boolean };

const mostOf = ({ examined }: OldGroup) => examined.most ?? EVENTS_MAX;

/**
 * The next events of these groups, in the order of their ids, as far as they fit into one page. Each source and status of a group
 * is a range of an index.
 */
async function readPages(tx: Tx, groups: readonly OldGroup[]): Promise<Page[]> {
  let room = EVENTS_MAX;
  const asked = groups.filter((group) => {
    const fits = room > 0;
    room -= Math.min(group.events, mostOf(group));
    return fits;
  });
  const rows = await tx.query<StoredError>(
    `with asked as materialized (
       select * from unnest($1::text[], $2::uuid[], $3::int[]) with ordinality w (fingerprint, after, most, place)),
     page as materialized (
       select w.place, w.fingerprint, e.id from asked w cross join lateral (
         select e.id from (${rangesOf(
           `select l.fingerprint, l.source_id, l.status from dlq_group_levels l where l.fingerprint = w.fingerprint
             group by 1, 2, 3 having sum(l.n) > 0`,
         )}) r
          cross join lateral (
           select id from dlq_events e where ${IN_RANGE} and e.id > w.after
            order by e.id limit ${EVENTS_MAX}) e
          order by e.id limit w.most) e
        order by w.place, e.id limit ${EVENTS_MAX})
     select e.id, page.fingerprint as group, s.name as source, e.error_code as "errorCode", e.first_seen as "firstMs", e.bounces,
            ${NEWEST_ERROR}
       from page join dlq_events e on e.id = page.id join sources s on s.id = e.source_id ${CURRENT_BODY}
      order by page.place, e.id`,
    [asked.map(({ fingerprint }) => fingerprint), asked.map(({ examined }) => examined.after), asked.map(mostOf)],
    { name: "events-to-examine" },
  );
  const events = Map.groupBy(rows, ({ group }) => group);
  // The last group of a full page may have more events, and the groups after it were not reached.
  const cut =
    rows.length === EVENTS_MAX ? asked.findIndex(({ fingerprint }) => fingerprint === rows.at(-1)!.group) : -1;
  return (cut === -1 ? asked : asked.slice(0, cut + 1)).map((group, place) => {
    const its = events.get(group.fingerprint) ?? [];
    return { group, events: its, whole: place !== cut && its.length < mostOf(group) };
  });
}

/** A group that has events of the page, with one of them and the times of the first and the last. */
type FoundGroup = Fingerprint & { errorCode: string; sample: string; firstMs: number; lastMs: number };

type Examination = Pick<Page, "group"> & {
  moves: EventMove[];
  state: Examined;
  /** When it goes on. */
  next: "now" | "later" | "end";
};

/** Adds the groups that the events belong to. */
function examine({ group, events, whole }: Page, aliases: GroupAliases, found: Map<string, FoundGroup>): Examination {
  const { fingerprint, examined } = group;
  const moves: EventMove[] = [];
  const { groups: known, family, most } = examined;
  const awaits = examined.awaits ?? group.open ?? undefined;
  const groups = { ...known };
  const state: Examined = { after: events.at(-1)?.id ?? examined.after, groups, family, most, awaits };
  for (const event of events) {
    const computed = computedGroup(event);
    if (computed.fingerprint === fingerprint) state.family = computed.family;
    const own = groupOf(computed, event.source, aliases);
    if (own.fingerprint === fingerprint) continue;
    const { id, errorCode, firstMs, bounces } = event;
    moves.push({ id, from: fingerprint, to: own.fingerprint, bounces });
    const before = found.get(own.fingerprint);
    const first = Math.min(firstMs, before?.firstMs ?? firstMs);
    const last = Math.max(firstMs, before?.lastMs ?? firstMs);
    // The text of a group is that of its own failures, where it has some.
    const text = before && computed.fingerprint !== own.fingerprint ? before : own;
    found.set(own.fingerprint, { ...text, errorCode, sample: id, firstMs: first, lastMs: last });
    if (own.fingerprint in groups || Object.keys(groups).length < COUNTED_MAX) {
      groups[own.fingerprint] = (groups[own.fingerprint] ?? 0) + 1;
    }
  }
  if (!whole) return { group, moves, state, next: "now" };
  if (awaits === undefined || awaits.length === 0) return { group, moves, state, next: "end" };
  // Read before the events: transactions that ended meanwhile may have parked events before the current position.
  if (awaits.some((id) => group.open!.includes(id))) return { group, moves, state, next: "later" };
  return { group, moves, state: { ...NOTHING_EXAMINED, family: state.family, most, awaits: [] }, next: "now" };
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
  await moveAgain(
    tx,
    sorted.map(({ fingerprint }) => fingerprint),
  );
}

async function noteExamined(tx: Tx, going: readonly Examination[]): Promise<void> {
  await tx.run(
    `update dlq_groups g
        set examined = case when w.next = 'later' then w.state || jsonb_build_object('notBefore', now() + interval '${AWAIT}') else w.state end
       from unnest($1::text[], $2::jsonb[], $3::text[]) w (fingerprint, state, next) where g.fingerprint = w.fingerprint`,
    [
      going.map(({ group }) => group.fingerprint),
      going.map(({ state }) => JSON.stringify(state)),
      going.map(({ next }) => next),
    ],
  );
}

async function endExamination(tx: Tx, ended: readonly Pick<Examination, "group" | "state">[]): Promise<void> {
  await tx.run(
    `update dlq_groups g set grouping_version = $3, examined = null, family = coalesce(w.family, g.family)
       from unnest($1::text[], $2::text[]) w (fingerprint, family) where g.fingerprint = w.fingerprint`,
    [ended.map(({ group }) => group.fingerprint), ended.map(({ state }) => state.family), GROUPING_VERSION],
  );
}

/** A group that all its events have left stands for the one that got most of them. */
async function replaceLeft(tx: Tx, ended: readonly Examination[]): Promise<void> {
  const emptied = ended.flatMap(({ group: { fingerprint, version, pattern }, state }) => {
    const [most] = Object.entries(state.groups).sort(([, one], [, other]) => other - one);
    return most && version !== EXAMINED_AGAIN ? [{ fingerprint, pattern, most: most[0] }] : [];
  });
  if (emptied.length === 0) return;
  const rows = await tx.query<{ fingerprint: string }>(
    `select w.fingerprint from unnest($1::text[]) w (fingerprint) where not ${hasEvents("w.fingerprint")}`,
    [emptied.map(({ fingerprint }) => fingerprint)],
  );
  const left = new Set(rows.map(({ fingerprint }) => fingerprint));
  const targets = await readGroupsMeant(
    tx,
    emptied.map(({ most }) => most),
  );
  const aliases = emptied.flatMap(({ fingerprint, pattern }, place) => {
    const target = targets[place]!;
    if (!left.has(fingerprint) || left.has(target)) return [];
    return [{ fingerprint, target, reason: "rules", pattern, note: null } as const];
  });
  // New events never have the old fingerprint: intake needs to know only of what pointed to it.
  if ((await storeAliases(tx, aliases, "worker")) > 0) await advanceAliases(tx);
}
