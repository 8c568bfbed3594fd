import type { Tx } from "@/lib/store/db";
import { INT4_MAX } from "@/lib/store/write/finish-items";
import { rollupOf } from "@/lib/store/write/rollup";

/**
 * PENDING or (its item just withdrawn) QUEUED to IGNORED. `attempts`: sends of the item, which count as the event's.
 * Returns what moved, and from where.
 */
export async function ignoreEvents(
  tx: Tx,
  events: readonly { id: string; attempts: number }[],
  actor: string,
): Promise<{ id: string; from: "PENDING" | "QUEUED" }[]> {
  return tx.query<{ id: string; from: "PENDING" | "QUEUED" }>(
    `with was as materialized (
       select e.id, e.status, w.attempts
         from dlq_events e join unnest($1::uuid[], $3::int[]) as w(id, attempts) on w.id = e.id
        where e.id = any($1::uuid[]) and e.status in ('PENDING', 'QUEUED')
     ), moved as (
       update dlq_events e
          set status = 'IGNORED', last_operator = $2, attempts = least(e.attempts::bigint + was.attempts, ${INT4_MAX})
         from was
        where e.id = was.id and e.status = was.status
          and (e.status = 'PENDING' or not exists (select 1 from redrive_items i where i.id = e.id and i.state = 'open'))
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, was.status as old_status,
                 'IGNORED' as new_status
     )${rollupOf("moved", { flow: { kind: "ignored", at: "now()" } })}
     select id, old_status as "from" from moved`,
    [events.map(({ id }) => id), actor, events.map(({ attempts }) => attempts)],
  );
}

/** IGNORED to PENDING, with a fresh redrive limit and no cooldown unless `keepLimits`. Returns the ids that moved. */
export async function releaseEvents(
  tx: Tx,
  ids: readonly string[],
  { actor, keepLimits = false }: { actor: string; keepLimits?: boolean },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `with moved as (
       update dlq_events e
          set status = 'PENDING', last_operator = $2,
              redrives = case when $3 then e.redrives else 0 end,
              failures = case when $3 then e.failures else 0 end,
              cooldown_until = case when $3 then e.cooldown_until end
        where e.id = any($1::uuid[]) and e.status = 'IGNORED'
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, 'IGNORED' as old_status,
                 'PENDING' as new_status
     )${rollupOf("moved", { flow: { kind: "released", at: "now()" } })}
     select id from moved`,
    [ids, actor, keepLimits],
  );
  return rows.map((row) => row.id);
}
