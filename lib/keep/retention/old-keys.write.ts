import type { Db, Tx } from "@/lib/platform/database/db";
import { removeUnknownRedrives } from "@/lib/redrive/life/old-redrives.write";

/** Sets of one round: a round of a large store ends, and the next one goes on. */
const SETS_MAX = 500;
const PAGE = 100;

/**
 * Removes the keys and the attempts of archived events that left the store longer ago than their source is to know them
 * (`sources.known_days`). They stay in the archive and can be found and restored; an arrival with such a key is a new event.
 * A redrive and its items are removed with its last known event. Each batch is a transaction.
 * Returns the number of sets.
 */
export async function removeOldKeys(db: Db): Promise<number> {
  const sources = await db.query<{ name: string; days: number }>(
    "select name, known_days as days from sources where known_days is not null order by name",
  );
  let removed = 0;
  for (const { name, days } of sources) {
    for (let after: Due | undefined, page: Due[] = []; removed < SETS_MAX; after = page.at(-1)) {
      page = await dueAfter(db, { name, days }, after);
      if (page.length === 0) break;
      for (const { id } of page) if (await db.transaction((tx) => removeKeysOf(tx, id))) removed++;
    }
  }
  return removed;
}

type Due = { id: string; removedAt: string };

/** The sets that another worker has locked stay the oldest: the next page begins behind them. */
async function dueAfter(db: Db, { name, days }: { name: string; days: number }, after?: Due): Promise<Due[]> {
  return db.query<Due>(
    `select id, removed_at::text as "removedAt" from archive_objects
      where source = $1 and keys_removed_at is null and removed_at < now() - make_interval(days => $2)
        and ($3::timestamptz is null or (removed_at, id) > ($3, $4::uuid))
      order by removed_at, id limit ${PAGE}`,
    [name, days, after?.removedAt ?? null, after?.id ?? null],
  );
}

/** False = another worker has it. */
async function removeKeysOf(tx: Tx, objectId: string): Promise<boolean> {
  const [free] = await tx.query(
    "select 1 from archive_objects where id = $1 and keys_removed_at is null for update skip locked",
    [objectId],
  );
  if (!free) return false;
  // The keys first, as a restore locks them: the statement after it sees which of the events came back meanwhile.
  await tx.query(
    `select 1 from archived_events a join event_keys k on k.event_id = a.event_id and k.source_id = a.source_id
      where a.object_id = $1 and k.id = a.id order by k.event_id, k.source_id, k.producer for update of k`,
    [objectId],
  );
  const redrives = await tx.query<{ id: string }>(
    `with events as materialized (select id, source_id, event_id from archived_events where object_id = $1),
     keys as (
       delete from event_keys k using events a where k.event_id = a.event_id and k.source_id = a.source_id and k.id = a.id),
     attempts as (delete from redrive_attempts t using events a where t.id = a.id),
     ended as (update archive_objects set keys_removed_at = now() where id = $1)
     select distinct i.redrive_id as id from events a join redrive_items i on i.id = a.id`,
    [objectId],
  );
  await removeUnknownRedrives(
    tx,
    redrives.map(({ id }) => id),
  );
  return true;
}
