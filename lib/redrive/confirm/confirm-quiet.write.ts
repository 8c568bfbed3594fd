import type { Tx } from "@/lib/platform/database/db";
import { lockEvents } from "@/lib/states/fence.write";
import { flowSql, rollupOf } from "@/lib/states/rollup.write";
import { EVENT, ITEM } from "@/lib/states/state.sql";

/** SQL: the redrive that delivered the event `e` last. */
export const DELIVERED_BY = `(select i.redrive_id from redrive_items i
  where i.id = e.id and i.state = ${ITEM.delivered} order by i.finished_at desc limit 1)`;

/**
 * SQL: a CTE, starting with a comma, that opens the quiet window of the events of `from` that match `which`. It belongs to the
 * statement that delivers them. `since` is the time of their delivery.
 */
export function quietWindowOf(from: string, which: string, since: string): string {
  return `, ${from}_quiet as (
    insert into quiet_windows (since, event_ids) select ${since}, array_agg(id) from ${from} where ${which} group by 1
  )`;
}

/** Each has as many events as one commit delivered, and is read whole. */
const WINDOWS_MAX = 100;

/**
 * Confirms the delivered events of the oldest quiet windows that ended, until there are `limit` of them. Returns them with the
 * redrive that delivered them, so that its counter changes in the same transaction; null = no window has ended. An event that
 * was delivered again meanwhile has a later window.
 */
export async function confirmQuiet(
  tx: Tx,
  quietMs: number,
  limit: number,
): Promise<{ id: string; redriveId: string | null }[] | null> {
  const ended = await tx.query<{ id: string }>(
    `with oldest as materialized (
       select since, id, sum(cardinality(event_ids)) over (order by since, id) - cardinality(event_ids) as before
         from (select * from quiet_windows where since < now() - make_interval(secs => $1) order by since, id limit ${WINDOWS_MAX} for update) w
     ), gone as (
       delete from quiet_windows w using oldest o where o.before < $2 and w.since = o.since and w.id = o.id returning w.event_ids
     )
     select unnest(event_ids) as id from gone`,
    [quietMs / 1000, limit],
  );
  if (ended.length === 0) return null;
  const ids = ended.map(({ id }) => id);
  await lockEvents(tx, ids);
  return tx.query(
    `with moved as (
       update dlq_events e set confirmed_at = now(), failures = 0, confirmed_redrive = ${DELIVERED_BY}
        where e.id = any($1::uuid[]) and e.status = ${EVENT.REDRIVEN} and e.confirmed_at is null
          and e.redrive_at < now() - make_interval(secs => $2)
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, e.status as old_status,
                 e.status as new_status, e.confirmed_redrive
     )${rollupOf("moved", { flow: { kinds: flowSql("confirm"), at: "now()" } })}
     select id, confirmed_redrive as "redriveId" from moved`,
    [ids, quietMs / 1000],
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
