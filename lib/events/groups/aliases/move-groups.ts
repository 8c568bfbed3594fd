import { type EventMove, moveEvents } from "@/lib/events/groups/aliases/move-events.write";
import { type Moving, moveHistory } from "@/lib/events/groups/aliases/move-history.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { OPEN_TRANSACTIONS } from "@/lib/platform/database/open-transactions.sql";
import { inTransaction } from "@/lib/platform/database/retrying";
import { EXAMINED_AGAIN } from "@/lib/selection/aliases.sql";
import { IN_RANGE, rangesOf } from "@/lib/selection/event-kinds.read";
import { holdsRollups } from "@/lib/states/rollup.write";

/** Events of one transaction: it holds their rows for some tens of milliseconds. */
const EVENTS_MAX = 500;
/** Groups of one transaction. A storm has a thousand of one event each. */
const GROUPS_MAX = 1_000;
/** Transactions of one round, about a second: a million events take ten minutes, and leave the store to others meanwhile. */
const TURNS = 20;
/** Transactions while somebody waits: the worker moves the rest. */
export const TURNS_AT_ONCE = 4;

/** The flow of a group by the minute, of many sources, is some ten thousand rows. */
const HISTORY_MS_MAX = 30_000;

/**
 * Moves what is stored of aliased groups to their targets: events in batches, and the history of groups without events. Each
 * transaction takes the groups that have waited longest and leaves the counters exact, so a round
 * can be interrupted anywhere. One process at a time. `only`: these groups, at once. Returns the number of events moved.
 */
export async function moveGroups(db: Db, { only }: { only?: readonly string[] } = {}): Promise<number> {
  let moved = 0;
  for (let turn = 0; turn < (only ? TURNS_AT_ONCE : TURNS); turn++) {
    const options = { statementTimeoutMs: HISTORY_MS_MAX };
    const { groups, events } = await inTransaction(db, (tx) => moveSome(tx, only), options);
    moved += events;
    if (events === 0 && groups < GROUPS_MAX) break;
  }
  return moved;
}

/** Locks groups before events, in the order in which parking locks them. */
async function moveSome(tx: Tx, only: readonly string[] | undefined): Promise<{ groups: number; events: number }> {
  const due = (await holdsRollups(tx)) ? await dueAliases(tx, only) : [];
  if (due.length === 0) return { groups: 0, events: 0 };
  const full = await moveHistory(tx, due);
  return { groups: due.length, events: await moveEvents(tx, await eventsOf(tx, full)) };
}

/**
 * Aliases whose group may still hold something, those that have waited longest first; they move to the end of the queue. An alias is settled
 * when the transactions that were open at its first look have ended: later ones have read it. This is checked before its events are
 * looked up. Leaves out aliases that a split examines, since some of their events belong elsewhere. Locked, so that a concurrent split
 * is seen.
 */
function dueAliases(tx: Tx, only: readonly string[] | undefined): Promise<Moving[]> {
  return tx.query<Moving>(
    `with open as materialized (select ${OPEN_TRANSACTIONS} as ids),
     due as materialized (
       select fingerprint, coalesce(awaits, open.ids) as awaits from group_aliases a cross join open
        where moved_at is null and target <> fingerprint and family is null
          and ${only ? "fingerprint = any($1)" : "due_at <= now() and $1::text[] is null"}
          and not exists (select from dlq_groups g where g.fingerprint = a.fingerprint and g.grouping_version = ${EXAMINED_AGAIN})
        order by due_at, fingerprint limit ${GROUPS_MAX} for update of a)
     update group_aliases a set due_at = now(), awaits = due.awaits
       from due cross join open where a.fingerprint = due.fingerprint
     returning a.fingerprint, a.target, a.reason, not due.awaits && open.ids as settled`,
    [only ?? null],
    { name: "due-aliases" },
  );
}

/** Each source and status of a group is an index range, and the levels say which have events. No group blocks others. */
async function eventsOf(tx: Tx, full: readonly Moving[]): Promise<EventMove[]> {
  if (full.length === 0) return [];
  const ofEach = [EVENTS_MAX, 50, 5, 1].find((n) => n * full.length <= EVENTS_MAX) ?? 1;
  const rows = await tx.query<{ id: string; from: string; to: string }>(
    `with kinds as materialized (
       select l.fingerprint, l.source_id, l.status from dlq_group_levels l
        where l.fingerprint = any($1) group by 1, 2, 3 having sum(l.n) > 0)
     select e.id, r.fingerprint as "from", g.target as "to"
       from unnest($1::text[], $2::text[]) g (fingerprint, target) join (${rangesOf("select * from kinds")}) r using (fingerprint)
      cross join lateral (select id from dlq_events e where ${IN_RANGE} limit ${ofEach}) e
      limit ${EVENTS_MAX}`,
    [full.map(({ fingerprint }) => fingerprint), full.map(({ target }) => target)],
    { name: "events-to-move" },
  );
  return rows.map((row) => ({ ...row, bounces: null }));
}
