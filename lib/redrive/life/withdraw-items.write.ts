import { rollupOf } from "@/lib/observe/rollups/rollup.write";
import { followLines } from "@/lib/order/lines.write";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import type { GateRefusal } from "@/lib/redrive/gate/refusal.pure";
import { lockEvents } from "@/lib/redrive/run/store/fence.write";
import { endAsLost, LOST_CODE } from "@/lib/redrive/run/store/intents.write";
import { EVENT_MOVE, ITEM_MOVE } from "@/lib/redrive/states/state.sql";

/** An item that was taken out of its redrive. `attempts`: earlier sends in that redrive; `lost`: see `ENDED_ATTEMPTS`. */
export type WithdrawnItem = { id: string; redriveId: string; attempts: number; lost: boolean };

/** SQL: no worker that is alive is sending the item. */
const NOT_SENT = "(id, redrive_id) not in (select id, redrive_id from live_sends)";

/** SQL: the open sends, read once. */
const UNDER_WAY = "under_way as materialized (select id, redrive_id, attempt from open_sends)";

/** SQL: sends of the item `i` in this redrive, with those of a worker that died before it counted them. */
const SENDS_MADE = `greatest(i.attempts,
  (select max(a.attempt) from redrive_attempts a where a.id = i.id and a.redrive_id = i.redrive_id),
  (select max(u.attempt) from under_way u where u.id = i.id and u.redrive_id = i.redrive_id))`;

/**
 * SQL: ends the open sends of the items that `closed` ends, whose worker died or is too late. `lost`: the items that a lost worker may
 * have delivered, now or before: their events count the redrive.
 */
const ENDED_ATTEMPTS = `, ended as (
  ${endAsLost("exists (select from closed c where c.id = o.id and c.redrive_id = o.redrive_id)")}
  returning id
), lost as materialized (
  select id from ended
  union
  select a.id from redrive_attempts a join closed c on c.id = a.id and c.redrive_id = a.redrive_id where a.code = '${LOST_CODE}'
)`;

/**
 * Cancels open items of one redrive that are not being sent, and makes their events PENDING again, up to `limit`. An intent that comes
 * later finds its item closed.
 */
export async function cancelOpenItems(tx: Tx, redriveId: string, limit: number, actor: string): Promise<string[]> {
  // A statement of its own: PostgreSQL 18 crashes where a row that it waited for is looked at again in a statement that
  // also prunes partitions.
  const picked = await tx.query<{ id: string }>(
    `select id from redrive_items
      where redrive_id = $1 and state in ${ITEM_MOVE.cancel.from} and ${NOT_SENT}
      order by id limit $2
        for no key update`,
    [redriveId, limit],
  );
  if (picked.length === 0) return [];
  const ids = picked.map((row) => row.id);
  await lockEvents(tx, ids);
  const rows = await tx.query<{ id: string }>(
    `with ${UNDER_WAY}, closed as (
       update redrive_items i
          set state = ${ITEM_MOVE.cancel.to}, fence = fence + 1, finished_at = now(), result = ${ITEM_MOVE.cancel.to},
              attempts = ${SENDS_MADE}
        where i.id = any($2::uuid[]) and i.redrive_id = $1 and i.state in ${ITEM_MOVE.cancel.from} and ${NOT_SENT}
       returning i.id, i.redrive_id, i.attempts
     )${ENDED_ATTEMPTS}, moved as (
       update dlq_events e
          set status = ${EVENT_MOVE.cancel.to}, last_operator = $3, attempts = least(e.attempts::bigint + c.attempts, ${INT4_MAX}),
              redrives = e.redrives + (exists (select 1 from lost l where l.id = e.id))::int
         from closed c where e.id = c.id and e.status in ${EVENT_MOVE.cancel.from}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.cancel.from} as old_status,
                 e.status as new_status
     )${rollupOf("moved")}
     select id from closed`,
    [redriveId, ids, actor],
  );
  await followLines(tx, ids);
  return rows.map((row) => row.id);
}

/**
 * Takes named events out of the open redrive that holds them, as refused, since a person's ignore takes precedence over
 * a queued redrive. Events with a send in flight stay: a send cannot be undone. The items are locked in the order of their ids,
 * as intents lock them.
 */
export async function refuseQueuedItems(
  tx: Tx,
  eventIds: readonly string[],
  refusal: GateRefusal,
): Promise<WithdrawnItem[]> {
  // A statement of its own: a transaction that records a send now either waits for these locks, or has committed before
  // the next statement reads the open attempts.
  await tx.query(
    `select id from redrive_items where id = any($1::uuid[]) and state in ${ITEM_MOVE.refuse.from} order by id for no key update`,
    [eventIds],
  );
  return tx.query<WithdrawnItem>(
    `with ${UNDER_WAY}, closed as (
       update redrive_items i
        set state = ${ITEM_MOVE.refuse.to}, result = $2, fence = fence + 1, finished_at = now(),
            attempts = ${SENDS_MADE}
      where i.id = any($1::uuid[]) and i.state in ${ITEM_MOVE.refuse.from}
        and ${NOT_SENT}
       returning i.id, i.redrive_id, i.attempts
     )${ENDED_ATTEMPTS}
     select c.id, c.redrive_id as "redriveId", c.attempts, exists (select 1 from lost l where l.id = c.id) as lost
       from closed c`,
    [eventIds, refusal],
  );
}
