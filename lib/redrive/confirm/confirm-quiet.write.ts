import { flowSql, rollupOf } from "@/lib/observe/rollups/rollup.write";
import type { Tx } from "@/lib/platform/database/db";
import { lockEvents } from "@/lib/redrive/run/store/fence.write";
import { EVENT, ITEM } from "@/lib/redrive/states/state.sql";

/** SQL: the redrive that delivered the event `e` last. */
export const DELIVERED_BY = `(select i.redrive_id from redrive_items i
  where i.id = e.id and i.state = ${ITEM.delivered} order by i.finished_at desc limit 1)`;

/**
 * Confirms delivered events that stayed quiet for `quietMs`, up to `limit`. Returns them with the redrive that
 * delivered them, so that its counter changes in the same transaction.
 */
export async function confirmQuiet(
  tx: Tx,
  quietMs: number,
  limit: number,
): Promise<{ id: string; redriveId: string | null }[]> {
  const picked = await tx.query<{ id: string }>(
    `select id from dlq_events
      where status = ${EVENT.REDRIVEN} and confirmed_at is null and redrive_at < now() - make_interval(secs => $1)
      order by redrive_at limit $2`,
    [quietMs / 1000, limit],
  );
  if (picked.length === 0) return [];
  const ids = picked.map(({ id }) => id);
  await lockEvents(tx, ids);
  return tx.query(
    `with moved as (
       update dlq_events e set confirmed_at = now(), failures = 0, confirmed_redrive = ${DELIVERED_BY}
        where e.id = any($1::uuid[]) and e.status = ${EVENT.REDRIVEN} and e.confirmed_at is null
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, e.status as old_status,
                 e.status as new_status, e.confirmed_redrive
     )${rollupOf("moved", { flow: { kinds: flowSql("confirm"), at: "now()" } })}
     select id, confirmed_redrive as "redriveId" from moved`,
    [ids],
  );
}

/** Adds confirmed events to the counters of the redrives that delivered them. */
export async function countConfirmed(tx: Tx, redriveIds: readonly string[]): Promise<void> {
  await tx.run(
    `with locked as materialized (
       select id from redrives where id = any($1::uuid[]) order by id for no key update
     )
     update redrives r set confirmed = confirmed + w.n
       from (select id, count(*) as n from unnest($1::uuid[]) as u(id) group by id) w join locked l on l.id = w.id
      where r.id = w.id`,
    [redriveIds],
  );
}
