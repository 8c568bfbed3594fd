import { type EventMove, moveEvents } from "@/lib/events/groups/aliases/move-events.write";
import { type Moving, moveHistory } from "@/lib/events/groups/aliases/move-history.write";
import { holdsRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { retrying } from "@/lib/platform/database/retrying";

/** Events of one transaction: it holds their rows for some tens of milliseconds. */
const EVENTS_MAX = 500;
/** Groups of one transaction. A storm has a thousand of one event each. */
const GROUPS_MAX = 1_000;
/** Transactions of one round, about a second: a million events take ten minutes, and leave the store to others meanwhile. */
const TURNS = 20;

/** The flow of a group by the minute, of many sources, is some ten thousand rows. */
const HISTORY_MS_MAX = 30_000;

type MoveOptions = {
  /** Only these groups; absent = all that are not moved. */
  only?: readonly string[];
  turns?: number;
  /** For another process that changes the rollups, rather than leaving the work to the next round. */
  wait?: boolean;
};

/**
 * Moves what is stored of groups for which another one stands: events in batches, and the history of groups without events. Each
 * transaction leaves the counters exact, and the next one goes on from what it finds: it may end anywhere. One process at a time. Returns
 * the number of events that were moved.
 */
export async function moveGroups(db: Db, { only, turns = TURNS, wait = false }: MoveOptions = {}): Promise<number> {
  let moved = 0;
  for (let turn = 0; turn < turns; turn++) {
    const work = () => db.transaction((tx) => moveSome(tx, { only, wait }), { statementTimeoutMs: HISTORY_MS_MAX });
    const n = await retrying(work, { pause: db.pause });
    if (n === 0) break;
    moved += n;
  }
  return moved;
}

/**
 * Returns how many events it moved; 0 = there is nothing left to do now. Groups are locked before events, as a batch that is
 * parked locks them.
 */
async function moveSome(tx: Tx, { only, wait = false }: Pick<MoveOptions, "only" | "wait">): Promise<number> {
  if (!(await holdsRollups(tx, { wait }))) return 0;
  const open = await openAliases(tx, only);
  if (open.length === 0) return 0;
  await moveHistory(tx, open);
  return moveEvents(tx, await eventsOf(tx, open));
}

/**
 * Aliases of which something may be stored. A transaction that read the aliases before one was made may park an event of it
 * later: it makes the row of the group anew.
 */
function openAliases(tx: Tx, only: readonly string[] | undefined): Promise<Moving[]> {
  return tx.query<Moving>(
    `select fingerprint, a.target, a.reason
       from (select fingerprint from group_aliases where moved_at is null
             union select fingerprint from dlq_groups where first_seen > now() - interval '1 hour') open
       join group_aliases a using (fingerprint)
      where a.target <> a.fingerprint and a.family is null and ($1::text[] is null or a.fingerprint = any($1))
      order by a.created_at desc, a.fingerprint limit ${GROUPS_MAX}`,
    [only ?? null],
    { name: "open-aliases" },
  );
}

/** Each source and status of a group is a range of an index, and the levels say which of them have events. */
async function eventsOf(tx: Tx, open: readonly Moving[]): Promise<EventMove[]> {
  const rows = await tx.query<{ id: string; from: string; to: string }>(
    `with kinds as materialized (
       select g.target, l.fingerprint, l.source_id, l.status
         from unnest($1::text[], $2::text[]) g (fingerprint, target) join dlq_group_levels l on l.fingerprint = g.fingerprint
        group by 1, 2, 3, 4 having sum(l.n) > 0)
     select e.id, k.fingerprint as "from", k.target as "to" from kinds k cross join lateral (
       select id from dlq_events e
        where e.fingerprint = k.fingerprint and e.source_id = k.source_id and e.status = k.status limit ${EVENTS_MAX}) e
      limit ${EVENTS_MAX}`,
    [open.map(({ fingerprint }) => fingerprint), open.map(({ target }) => target)],
    { name: "events-to-move" },
  );
  return rows.map((row) => ({ ...row, bounces: null }));
}
