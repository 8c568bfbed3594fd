import type { Tx } from "@/lib/platform/database/db";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

/** An arrival as its key needs it. `id`: of the event that shall hold the key. */
type KeyHolder = { id: string; sourceId: string; letter: Pick<DeadLetter, "eventId" | "producer"> };

/** Names an event in maps and sets: two arrivals of one event have the same key. `producer` as the store has it, '' = none. */
export function keyOf(sourceId: string, eventId: string, producer = ""): string {
  return `${sourceId}${producer}\0${eventId}`;
}

/**
 * Claims the deduplication keys. Returns the ids whose key was free: exactly these events are new, even while other
 * transactions park them. Keys are claimed in one order, so that two batches wait for each other but never deadlock.
 */
export async function claimKeys(tx: Tx, parkings: readonly KeyHolder[]): Promise<Set<string>> {
  const sorted = [...parkings].sort(
    (a, b) =>
      compare(a.letter.eventId, b.letter.eventId) ||
      compare(a.sourceId, b.sourceId) ||
      compare(producerOf(a), producerOf(b)),
  );
  const [claimed] = await tx.query<{ ids: string[] | null }>(
    `with claimed as (
       insert into event_keys (source_id, event_id, id, producer)
       select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) on conflict do nothing returning id)
     select case when count(*) < cardinality($3::uuid[]) then coalesce(array_agg(id::text), '{}') end as ids from claimed`,
    [
      uuids(sorted.map((parking) => parking.sourceId)),
      sorted.map((parking) => parking.letter.eventId),
      uuids(sorted.map((parking) => parking.id)),
      sorted.map(producerOf),
    ],
    { name: "claim-keys" },
  );
  // Nearly always all of them: then the server sends none back.
  return new Set(claimed!.ids ?? parkings.map(({ id }) => id));
}

/** The array as the server reads it: `pg` would look for characters to escape in each. */
function uuids(ids: readonly string[]): string {
  return `{${ids.join(",")}}`;
}

function producerOf({ letter }: KeyHolder): string {
  return letter.producer ?? "";
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Assigns keys whose event no longer exists to the given ids; that of an archived event only if its id is in `lost`.
 * Returns the ids that now hold their key. The keys are locked first: a second statement sees what became of an event that
 * another transaction was bringing back, and of two batches one gets the key.
 */
export async function reviveKeys(
  tx: Tx,
  parkings: readonly KeyHolder[],
  lost: ReadonlySet<string> = new Set(),
): Promise<Set<string>> {
  const gone = `not exists (select 1 from dlq_events e where e.id = k.id)
    and (k.id = any($1::uuid[]) or not exists (select 1 from archived_events a where a.id = k.id))`;
  const keys = await tx.query<{ sourceId: string; eventId: string; producer: string; oldId: string }>(
    `select k.source_id as "sourceId", k.event_id as "eventId", k.producer, k.id as "oldId"
       from unnest($2::uuid[], $3::text[], $4::text[]) as w (source_id, event_id, producer)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id and k.producer = w.producer
      where ${gone} order by k.event_id, k.source_id, k.producer for no key update of k`,
    [
      [...lost],
      parkings.map(({ sourceId }) => sourceId),
      parkings.map(({ letter }) => letter.eventId),
      parkings.map(producerOf),
    ],
    { name: "lock-gone-keys" },
  );
  if (keys.length === 0) return new Set();
  const idOf = new Map(
    parkings.map(({ id, sourceId, letter }) => [keyOf(sourceId, letter.eventId, letter.producer), id]),
  );
  const rows = await tx.query<{ id: string }>(
    `update event_keys k set id = w.id
       from unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[]) as w (source_id, event_id, old_id, id)
      where k.event_id = w.event_id and k.source_id = w.source_id and k.id = w.old_id and ${gone}
     returning k.id`,
    [
      [...lost],
      keys.map(({ sourceId }) => sourceId),
      keys.map(({ eventId }) => eventId),
      keys.map(({ oldId }) => oldId),
      keys.map(({ sourceId, eventId, producer }) => idOf.get(keyOf(sourceId, eventId, producer))),
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
      order by k.event_id, k.source_id, k.producer for no key update of k`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map((parking) => parking.id),
    ],
    { name: "lock-own-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

/** `hashes`: SHA-256 of the bytes of each revision; null = unknown. */
type ArchivedKey = {
  id: string;
  sourceId: string;
  eventId: string;
  producer: string;
  status: EventStatus;
  hashes: Buffer[] | null;
};

/** The archived events that these arrivals are of. */
export async function archivedAmongKeys(tx: Tx, parkings: readonly KeyHolder[]): Promise<ArchivedKey[]> {
  return tx.query<ArchivedKey>(
    `select a.id, k.source_id as "sourceId", k.event_id as "eventId", k.producer, a.status, a.hashes
       from unnest($1::uuid[], $2::text[], $3::text[]) as w (source_id, event_id, producer)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id and k.producer = w.producer
       join archived_events a on a.id = k.id`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map(producerOf),
    ],
    { name: "archived-keys" },
  );
}
