import type { GateRefusal } from "@/lib/core/refusal";
import type { Tx } from "@/lib/store/db";
import { ATTEMPT, EVENT_MOVE, ITEM_MOVE } from "@/lib/store/state-sql";
import { INT4_MAX } from "@/lib/store/write/finish-items";
import { rollupOf } from "@/lib/store/write/rollup";

/** An item that was taken out of its redrive. `attempts`: earlier sends in that redrive. */
export type WithdrawnItem = { id: string; redriveId: string; attempts: number };

/**
 * Cancels open items of one redrive that no worker holds, and makes their events PENDING again, up to `limit`. Items
 * that a worker holds stay: the worker's next attempt finds the redrive cancelled, and the worker gives them back.
 */
export async function cancelOpenItems(tx: Tx, redriveId: string, limit: number, actor: string): Promise<string[]> {
  // A statement of its own: PostgreSQL 18 crashes where a row that it waited for is looked at again in a statement that
  // also prunes partitions.
  const picked = await tx.query<{ id: string }>(
    `select id from redrive_items
      where redrive_id = $1 and state in ${ITEM_MOVE.cancel.from} and (claimed_until is null or claimed_until < now())
      order by id limit $2
        for no key update`,
    [redriveId, limit],
  );
  if (picked.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `with closed as (
       update redrive_items i
          set state = ${ITEM_MOVE.cancel.to}, fence = fence + 1, claimed_until = null, finished_at = now(), result = ${ITEM_MOVE.cancel.to}
        where i.id = any($2::uuid[]) and i.redrive_id = $1 and i.state in ${ITEM_MOVE.cancel.from}
          and (i.claimed_until is null or i.claimed_until < now())
       returning i.id, i.attempts
     ), moved as (
       update dlq_events e
          set status = ${EVENT_MOVE.cancel.to}, last_operator = $3, attempts = least(e.attempts::bigint + c.attempts, ${INT4_MAX})
         from closed c where e.id = c.id and e.status in ${EVENT_MOVE.cancel.from}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.cancel.from} as old_status,
                 e.status as new_status
     )${rollupOf("moved")}
     select id from closed`,
    [redriveId, picked.map((row) => row.id), actor],
  );
  return rows.map((row) => row.id);
}

/**
 * Takes named events out of the open redrive that holds them, as refused, since a person's ignore takes precedence over
 * a queued redrive. Events with a send in flight (an open attempt) stay: a send cannot be undone. The items' fence is
 * raised, so that a worker that holds one is denied its next attempt. The items are locked in the order of their ids,
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
    `update redrive_items i
        set state = ${ITEM_MOVE.refuse.to}, result = $2, fence = fence + 1, claimed_until = null, finished_at = now()
      where i.id = any($1::uuid[]) and i.state in ${ITEM_MOVE.refuse.from}
        and not exists (select 1 from redrive_attempts a
                         where a.id = i.id and a.redrive_id = i.redrive_id and a.state = ${ATTEMPT.open} and a.fence = i.fence
                           and i.claimed_until >= now())
     returning i.id, i.redrive_id as "redriveId", i.attempts`,
    [eventIds, refusal],
  );
}
