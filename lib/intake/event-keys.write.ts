import type { Parking } from "@/lib/intake/park.write";
import type { Tx } from "@/lib/platform/database/db";

/** Names an event in maps and sets: two arrivals of one event have the same key. */
export function keyOf(sourceId: string, eventId: string): string {
  return `${sourceId}${eventId}`;
}

/**
 * Claims the deduplication keys. Returns the ids whose key was free: exactly these events are new, even while other
 * transactions park them. Keys are claimed in one order, so that two batches wait for each other but never deadlock.
 */
export async function claimKeys(tx: Tx, parkings: Parking[]): Promise<Set<string>> {
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
 * Assigns keys whose event no longer exists to the given ids. Returns the ids that now hold their key. A second batch that
 * waited for the first one would still see no event in its own snapshot: it compares the id that the key had with the
 * id that the key has.
 */
export async function reviveKeys(tx: Tx, parkings: Parking[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `with gone as materialized (
       select k.source_id, k.event_id, k.id as old_id, w.id
         from unnest($1::uuid[], $2::text[], $3::uuid[]) as w (source_id, event_id, id)
         join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id
        where not exists (select 1 from dlq_events e where e.id = k.id)
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
    ],
    { name: "revive-keys" },
  );
  return new Set(rows.map((row) => row.id));
}
