import { followLines } from "@/lib/order/lines.write";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { DELIVERED_BY } from "@/lib/redrive/confirm/confirm-quiet.write";
import type { EVENT_MOVES, EventStatus } from "@/lib/states/event-state.pure";
import { lockEvents } from "@/lib/states/fence.write";
import { flowSql, rollupOf } from "@/lib/states/rollup.write";
import { EVENT, EVENT_MOVE } from "@/lib/states/state.sql";

export type Confirmable = { id: string; status: EventStatus; confirmed: boolean };

/**
 * The events as they are now. They stay locked until the word of their consumer is committed: the end of a send either
 * was committed before, and the event is REDRIVEN here, or it waits for this transaction and then finds the word, see
 * `findOvertaking`.
 */
export async function lockConfirmable<E extends { id: string }>(
  tx: Tx,
  events: readonly E[],
): Promise<(E & Confirmable)[]> {
  const locked = await lockEvents(
    tx,
    events.map(({ id }) => id),
  );
  return events.flatMap((event) => {
    const now = locked.get(event.id);
    return now ? [{ ...event, status: now.status, confirmed: now.confirmed }] : [];
  });
}

/**
 * Those of the events that a redrive has ended and that are not confirmed although a consumer's word came since the redrive
 * was made, with that consumer. A delivered event counts any word: the dry run sends nothing that was processed before.
 */
export async function findOvertaking(
  db: Queryable,
  redriveId: string,
  ids: readonly string[],
): Promise<{ id: string; consumer: string }[]> {
  return db.query(
    `with ended as materialized (
       select e.id, e.event_id, e.source_id, e.producer, e.status from dlq_events e
        where e.id = any($1::uuid[]) and e.id between $3 and $4 and (e.status in ${EVENT_MOVE.confirm.from}) is true and e.confirmed_at is null
     )
     select distinct on (e.id) e.id, p.consumer
       from ended e join processed_events p on p.event_id = e.event_id and p.source_id = e.source_id
                                              and p.producer = e.producer
      where e.status = ${EVENT.REDRIVEN} or p.processed_at >= (select r.created_at from redrives r where r.id = $2)
      order by e.id, p.consumer`,
    [ids, redriveId, ...idSpan(ids)],
    { name: "find-overtaking" },
  );
}

/** Stores that a consumer processed these events, with aggregate and version where the event is known. */
export async function recordProcessed(
  tx: Tx,
  sourceId: string,
  consumer: string,
  events: readonly { eventId: string; producer: string }[],
): Promise<void> {
  await tx.run(
    `insert into processed_events (consumer, source_id, event_id, producer, aggregate_type, aggregate_id, version)
     select $2, $1, w.event_id, w.producer, coalesce(e.aggregate_type, ''), e.aggregate_id, e.version
       from unnest($3::text[], $4::text[]) as w (event_id, producer)
       left join event_keys k on k.event_id = w.event_id and k.source_id = $1 and k.producer = w.producer
       left join dlq_events e on e.id = k.id
      order by w.event_id, w.producer
     on conflict do nothing`,
    [sourceId, consumer, ...columnsOf(events, "eventId", "producer")],
    { name: "record-processed" },
  );
}

type Confirmed = { id: string; from: (typeof EVENT_MOVES.confirm.from)[number]; redriveId: string | null };

/**
 * Confirms the events that are REDRIVEN or PENDING. A PENDING event counts as redriven too: it leaves the parked
 * events. Returns the moved events, their status before, and the redrive that had delivered each: its `confirmed`
 * counts the event from now on.
 */
export async function confirmEvents(tx: Tx, ids: readonly string[]): Promise<Confirmed[]> {
  await lockEvents(tx, ids);
  const confirmed = await tx.query<Confirmed>(
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
  await followLines(
    tx,
    confirmed.map(({ id }) => id),
  );
  return confirmed;
}
