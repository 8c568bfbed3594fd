import type { EVENT_MOVES, EventStatus } from "@/lib/core/event-state";
import type { Queryable, Tx } from "@/lib/store/db";
import { EVENT, EVENT_MOVE } from "@/lib/store/state-sql";
import { DELIVERED_BY } from "@/lib/store/write/confirm-quiet";
import { checked } from "@/lib/store/write/fence";
import { flowSql, rollupOf } from "@/lib/store/write/rollup";

type ConfirmedFrom = (typeof EVENT_MOVES.confirm.from)[number];
export type Confirmable = { id: string; status: EventStatus; confirmed: boolean };

/** The stored events of these keys. */
export async function findConfirmable(tx: Tx, sourceId: string, eventIds: string[]): Promise<Confirmable[]> {
  return tx.query<Confirmable>(
    `select e.id, e.status, e.confirmed_at is not null as confirmed
       from event_keys k join dlq_events e on e.id = k.id where k.source_id = $1 and k.event_id = any($2::text[])`,
    [sourceId, eventIds],
    { name: "find-confirmable" },
  );
}

/**
 * Those of the events that are REDRIVEN and not confirmed although a consumer's word is there, with that consumer. The dry
 * run sends nothing that was processed before, so the word came while they were on their way.
 */
export async function findOvertaking(
  db: Queryable,
  ids: readonly string[],
): Promise<{ id: string; consumer: string }[]> {
  return db.query(
    `with delivered as materialized (
       select e.id, e.event_id, e.source_id from dlq_events e
        where e.id = any($1::uuid[]) and ${checked("e.status", EVENT.REDRIVEN)} and e.confirmed_at is null
     )
     select distinct on (e.id) e.id, p.consumer
       from delivered e join processed_events p on p.event_id = e.event_id and p.source_id = e.source_id
      order by e.id, p.consumer`,
    [ids],
    { name: "find-overtaking" },
  );
}

/** Stores that a consumer processed these events, with aggregate and version where the event is known. */
export async function recordProcessed(
  tx: Tx,
  sourceId: string,
  consumer: string,
  eventIds: readonly string[],
): Promise<void> {
  await tx.run(
    `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
     select $2, $1, w.event_id, coalesce(e.aggregate_type, ''), e.aggregate_id, e.version
       from unnest($3::text[]) as w (event_id)
       left join event_keys k on k.event_id = w.event_id and k.source_id = $1
       left join dlq_events e on e.id = k.id
      order by w.event_id
     on conflict do nothing`,
    [sourceId, consumer, eventIds],
    { name: "record-processed" },
  );
}

/**
 * Confirms the events that are REDRIVEN or PENDING. A PENDING event counts as redriven too: it leaves the parked
 * events. Returns the moved events, their status before, and the redrive that had delivered each: its `confirmed`
 * counts the event from now on.
 */
export async function confirmEvents(
  tx: Tx,
  ids: readonly string[],
): Promise<{ id: string; from: ConfirmedFrom; redriveId: string | null }[]> {
  return tx.query(
    `with was as materialized (
       select id, status from dlq_events
        where id = any($1::uuid[]) and confirmed_at is null and status in ${EVENT_MOVE.confirm.from}
     ), moved as (
       update dlq_events e set status = ${EVENT_MOVE.confirm.to}, confirmed_at = now(), cooldown_until = null, failures = 0,
              confirmed_redrive = case when was.status = ${EVENT.REDRIVEN} then ${DELIVERED_BY} end
         from was where e.id = was.id and e.status = was.status and e.confirmed_at is null
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, was.status as old_status,
                 e.status as new_status, e.confirmed_redrive
     )${rollupOf("moved", { flow: { kinds: flowSql("confirm"), at: "now()" } })}
     select id, old_status as "from", confirmed_redrive as "redriveId" from moved`,
    [ids],
    { name: "confirm-events" },
  );
}
