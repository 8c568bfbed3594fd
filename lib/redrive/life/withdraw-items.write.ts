import { rollupOf } from "@/lib/observe/rollups/rollup.write";
import { inLine } from "@/lib/order/line.sql";
import { followLines } from "@/lib/order/lines.write";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import type { GateRefusal } from "@/lib/redrive/gate/refusal.pure";
import { lockEvents } from "@/lib/redrive/run/store/fence.write";
import { endAsLost } from "@/lib/redrive/run/store/intents.write";
import { EVENT_MOVE, ITEM, ITEM_MOVE } from "@/lib/redrive/states/state.sql";

/** An item that was taken out of its redrive. `attempts`: earlier sends in that redrive; `lost`: see `ENDED_ATTEMPTS`. */
export type WithdrawnItem = { id: string; redriveId: string; attempts: number; lost: boolean };

/** SQL: sends of the item `i` in this redrive, with those of a worker that died before it counted them. */
const SENDS_MADE = `greatest(i.attempts, coalesce((select max(a.attempt) from sends a where a.id = i.id and a.redrive_id = i.redrive_id), 0))`;

/**
 * SQL: the open sends of the items that `closed` ends. Their worker died, or is too late: no later claim will look at
 * them. As in `markAmbiguous` each may have been delivered, so its event counts the redrive.
 */
const ENDED_ATTEMPTS = `, lost as (
  ${endAsLost("exists (select from closed c where c.id = o.id and c.redrive_id = o.redrive_id)")}
  returning id
)`;

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
  const ids = picked.map((row) => row.id);
  await lockEvents(tx, ids);
  const rows = await tx.query<{ id: string }>(
    `with closed as (
       update redrive_items i
          set state = ${ITEM_MOVE.cancel.to}, fence = fence + 1, claimed_until = null, finished_at = now(), result = ${ITEM_MOVE.cancel.to},
              attempts = ${SENDS_MADE}
        where i.id = any($2::uuid[]) and i.redrive_id = $1 and i.state in ${ITEM_MOVE.cancel.from}
          and (i.claimed_until is null or i.claimed_until < now())
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
 * a queued redrive. Events with a send in flight stay: a send cannot be undone. The items' fence is
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
    `with closed as (
       update redrive_items i
        set state = ${ITEM_MOVE.refuse.to}, result = $2, fence = fence + 1, claimed_until = null, finished_at = now(),
            attempts = ${SENDS_MADE}
      where i.id = any($1::uuid[]) and i.state in ${ITEM_MOVE.refuse.from}
        and not exists (select 1 from open_sends a
                         where a.id = i.id and a.redrive_id = i.redrive_id and a.fence = i.fence and i.claimed_until >= now())
       returning i.id, i.redrive_id, i.attempts
     )${ENDED_ATTEMPTS}
     select c.id, c.redrive_id as "redriveId", c.attempts, exists (select 1 from lost l where l.id = c.id) as lost
       from closed c`,
    [eventIds, refusal],
  );
}

/**
 * Ends the leases of the aggregates whose items were withdrawn, unless their redrive still works other items of them.
 * Call it last in the transaction: aggregates are locked after redrives, as a finish locks them, and in the same order.
 */
export async function endWithdrawnLeases(
  tx: Tx,
  withdrawn: readonly Pick<WithdrawnItem, "id" | "redriveId">[],
): Promise<void> {
  if (withdrawn.length === 0) return;
  await tx.run(
    `with freed as materialized (
       select distinct i.redrive_id, i.source_id, i.aggregate_type, i.aggregate_id
         from unnest($1::uuid[], $2::uuid[]) as w(id, redrive_id)
         join redrive_items i on i.id = w.id and i.redrive_id = w.redrive_id
        where i.aggregate_id is not null
     ), held as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id
         from aggregates a
         join freed f on a.aggregate_id = f.aggregate_id and a.source_id = f.source_id
                     and a.aggregate_type = f.aggregate_type and a.lease_redrive = f.redrive_id
        where a.lease_until >= now() and not exists (
                select 1 from aggregate_lines l join redrive_items i on i.id = l.id and i.redrive_id = l.redrive_id
                 where ${inLine("l", "a", "open")} and l.redrive_id = f.redrive_id and i.state = ${ITEM.open} and i.claimed_until >= now())
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     )
     update aggregates a set lease_until = clock_timestamp() - interval '1 day'
       from held h
      where a.source_id = h.source_id and a.aggregate_id = h.aggregate_id and a.aggregate_type = h.aggregate_type`,
    [withdrawn.map(({ id }) => id), withdrawn.map(({ redriveId }) => redriveId)],
  );
}
