import { followLines } from "@/lib/order/lines.write";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import { endAsLost, LOST_CODE } from "@/lib/redrive/run/store/intents.write";
import { lockSlicesOf } from "@/lib/redrive/run/store/slice-owners.write";
import { lockEvents } from "@/lib/states/fence.write";
import type { GateRefusal } from "@/lib/states/refusal.pure";
import { rollupOf } from "@/lib/states/rollup.write";
import { EVENT_MOVE, ITEM_MOVE } from "@/lib/states/state.sql";

/**
 * An item that was taken out of its redrive. `attempts`: earlier sends in that redrive; `lost`: a lost worker may have delivered it, now or
 * before, and its event counts the redrive.
 */
export type WithdrawnItem = { id: string; redriveId: string; attempts: number; lost: boolean };

/** SQL: no worker that is alive is sending the open item `i`. */
const NOT_SENT = "(i.id, i.redrive_id) not in (select id, redrive_id from live_sends)";

/** Locks those of these open items that are in one of the slices, in the order in which every statement locks several of them. */
async function lockIn(
  tx: Tx,
  slices: readonly { redriveId: string; slice: number }[],
  ids: string[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `select i.id from open_items i
      where i.id = any($1::uuid[]) and (i.redrive_id, i.slice) in (select * from unnest($2::uuid[], $3::int[]))
      order by i.id for update`,
    [ids, ...columnsOf(slices, "redriveId", "slice")],
  );
  return rows.map(({ id }) => id);
}

/**
 * SQL: takes the open items of $1 that no worker is sending out of their redrives, as `closed`, and ends their open sends, whose worker died
 * or is too late. `lost`: see `WithdrawnItem`. Their attempts count those of a worker that died before it counted them.
 *
 * @param to the state in which they end
 * @param result SQL of their result
 */
function takeOut(to: string, result: string): string {
  return `with under_way as materialized (
       select id, redrive_id, attempt from open_sends
     ), closed as (
       delete from open_items i where i.id = any($1::uuid[]) and ${NOT_SENT}
       returning i.id, i.redrive_id, greatest(i.attempts,
         (select max(a.attempt) from redrive_attempts a where a.id = i.id and a.redrive_id = i.redrive_id),
         (select max(u.attempt) from under_way u where u.id = i.id and u.redrive_id = i.redrive_id)) as attempts
     ), ended_items as (
       update redrive_items i set state = ${to}, result = ${result}, finished_at = now(), attempts = c.attempts
         from closed c where i.id = c.id and i.redrive_id = c.redrive_id
     ), ended_sends as (
       ${endAsLost("exists (select from closed c where c.id = o.id and c.redrive_id = o.redrive_id)")}
       returning id
     ), lost as materialized (
       select id from ended_sends
       union
       select a.id from redrive_attempts a join closed c on c.id = a.id and c.redrive_id = a.redrive_id where a.code = '${LOST_CODE}'
     )`;
}

/**
 * Cancels open items of one redrive that are not being sent, and makes their events PENDING again, up to `limit`. An intent that comes
 * later finds its item closed.
 */
export async function cancelOpenItems(tx: Tx, redriveId: string, limit: number, actor: string): Promise<string[]> {
  // Statements of their own, here and below: each sees what was committed while the one before waited.
  const slices = await lockSlicesOf(tx, { redriveId });
  const picked = await tx.query<{ id: string }>(
    `select i.id from open_items i where i.redrive_id = $1 and ${NOT_SENT} order by i.id limit $2`,
    [redriveId, limit],
  );
  const ids = await lockIn(
    tx,
    slices,
    picked.map(({ id }) => id),
  );
  if (ids.length === 0) return [];
  await lockEvents(tx, ids);
  const { to } = ITEM_MOVE.cancel;
  const rows = await tx.query<{ id: string }>(
    `${takeOut(to, to)}, moved as (
       update dlq_events e
          set status = ${EVENT_MOVE.cancel.to}, last_operator = $2, attempts = least(e.attempts::bigint + c.attempts, ${INT4_MAX}),
              redrives = e.redrives + (exists (select 1 from lost l where l.id = e.id))::int
         from closed c where e.id = c.id and e.status in ${EVENT_MOVE.cancel.from}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.cancel.from} as old_status,
                 e.status as new_status
     )${rollupOf("moved")}
     select id from closed`,
    [ids, actor],
  );
  await followLines(tx, ids);
  return rows.map((row) => row.id);
}

/**
 * Takes named events out of the open redrive that holds them, as refused, since a person's ignore takes precedence over
 * a queued redrive. Events with a send in flight stay: a send cannot be undone.
 */
export async function refuseQueuedItems(tx: Tx, eventIds: string[], refusal: GateRefusal): Promise<WithdrawnItem[]> {
  const ids = await lockIn(tx, await lockSlicesOf(tx, { ids: eventIds }), eventIds);
  return tx.query<WithdrawnItem>(
    `${takeOut(ITEM_MOVE.refuse.to, "$2")}
     select c.id, c.redrive_id as "redriveId", c.attempts, exists (select 1 from lost l where l.id = c.id) as lost
       from closed c`,
    [ids, refusal],
  );
}
