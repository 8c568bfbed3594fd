import type { EventStatus } from "@/lib/events/event-state.pure";
import type { Tx } from "@/lib/platform/database/db";

/** An arrival as its key needs it. \`id\`: of the event that shall hold the key. */
export type KeyHolder = { id: string; sourceId: string; letter: { eventId: string } };

/** Names an event in maps and sets: two arrivals of one event have the same key. */
export function keyOf(sourceId: string, eventId: string): string {
  return `${sourceId}${eventId}`;
}

/**
 * Claims the deduplication keys. Returns the ids whose key was free: exactly these events are new, even while other
 * transactions park them. Keys are claimed in one order, so that two batches wait for each other but never deadlock.
 */
export async function claimKeys(tx: Tx, parkings: readonly KeyHolder[]): Promise<Set<string>> {
  const sorted = [...parkings].sort(
    (a, b) => compare(a.letter.eventId, b.letter.eventId) || compare(a.sourceId, b.sourceId),
  );
  const rows = await tx.query<{ id: string }>(
    `insert into event_keys (source_id, event_id, id)
     select * from unnest($1::uuid[], $2::text[], $3::uuid[]) on conflict do nothing returning id`,
    [
      sorted.map((parking) => parking.sourceId),
      sorted.map((parking) => parking.letter.eventId),
      sorted.map((parking) => parking.id),
    ],
    { name: "claim-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Assigns keys whose event no longer exists to the given ids; that of an event in the archive only with `archived`. Returns the ids that now hold their key. A second batch that
 * waited for the first one would still see no event in its own snapshot: it compares the id that the key had with the
 * id that the key has.
 */
export async function reviveKeys(
  tx: Tx,
  parkings: readonly KeyHolder[],
  { archived = false } = {},
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `with gone as materialized (
       select k.source_id, k.event_id, k.id as old_id, w.id
         from unnest($1::uuid[], $2::text[], $3::uuid[]) as w (source_id, event_id, id)
         join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id
        where not exists (select 1 from dlq_events e where e.id = k.id)
          and ($4 or not exists (select 1 from archived_events a where a.id = k.id))
     ), locked as materialized (
       select k.source_id, k.event_id, g.id
         from gone g join event_keys k on k.event_id = g.event_id and k.source_id = g.source_id and k.id = g.old_id
        order by k.event_id, k.source_id for no key update of k
     )
     update event_keys k set id = l.id from locked l where k.event_id = l.event_id and k.source_id = l.source_id
     returning k.id`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map((parking) => parking.id),
      archived,
    ],
    { name: "revive-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * Of these events, those that hold their key already, as events of the archive do. Their ids. The keys are locked, so that of
 * two transactions that bring one event back the second sees what the first has done; in the order of `claimKeys`.
 */
export async function lockOwnKeys(tx: Tx, parkings: readonly KeyHolder[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `select k.id from unnest($1::uuid[], $2::text[], $3::uuid[]) as w (source_id, event_id, id)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id and k.id = w.id
      order by k.event_id, k.source_id for no key update of k`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map((parking) => parking.id),
    ],
    { name: "lock-own-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

export type ArchivedKey = { id: string; sourceId: string; eventId: string; status: EventStatus };

/** The archived events that these arrivals are of. */
export async function archivedAmongKeys(tx: Tx, parkings: readonly KeyHolder[]): Promise<ArchivedKey[]> {
  return tx.query<ArchivedKey>(
    `select a.id, k.source_id as "sourceId", k.event_id as "eventId", a.status
       from unnest($1::uuid[], $2::text[]) as w (source_id, event_id)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id
       join archived_events a on a.id = k.id`,
    [parkings.map((parking) => parking.sourceId), parkings.map((parking) => parking.letter.eventId)],
    { name: "archived-keys" },
  );
}
