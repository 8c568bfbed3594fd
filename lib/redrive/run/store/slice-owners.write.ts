import { columnsOf } from "@/lib/platform/database/columns";
import type { Db, Queryable, Tx } from "@/lib/platform/database/db";
import { isOver, isWithin } from "@/lib/platform/database/moments.sql";
import { endAsLost } from "@/lib/redrive/run/store/intents.write";
import { checked } from "@/lib/states/fence.write";

type Slices = { redriveId: string; slices: [first: number, last: number] };

/**
 * Takes all of these slices for a worker, or none. One whose owner is the worker itself is taken too: an answer was lost, and what it had
 * under way becomes ambiguous. Returns the epoch of each; null = another worker works one of them.
 *
 * @param slices inclusive range
 */
export async function takeSlices(
  db: Db,
  { redriveId, slices, workerId }: Slices & { workerId: string },
): Promise<Map<number, bigint> | null> {
  const [first, last] = slices;
  return db.transaction(async (tx) => {
    await abandonSlices(tx, { redriveId, slices, workerId });
    const rows = await tx.query<{ slice: number; epoch: string }>(
      `insert into slice_owners as o (redrive_id, slice, epoch, owner)
       select $1, n, 1, $4 from generate_series($2::int, $3::int) n order by n
       on conflict (redrive_id, slice) do update set epoch = o.epoch + 1, owner = excluded.owner
        where o.owner is null
       returning slice, epoch::text`,
      [redriveId, first, last, workerId],
      { name: "take-slices" },
    );
    if (rows.length === last - first + 1) return new Map(rows.map(({ slice, epoch }) => [slice, BigInt(epoch)]));
    await tx.run("update slice_owners set owner = null where redrive_id = $1 and slice = any($2::int[])", [
      redriveId,
      rows.map(({ slice }) => slice),
    ]);
    return null;
  });
}

/** Gives slices back of which nothing is under way, unless they were taken anew: an earlier try may be committed late. */
export async function releaseSlices(
  db: Queryable,
  { redriveId, workerId, epochs }: { redriveId: string; workerId: string; epochs: ReadonlyMap<number, bigint> },
): Promise<void> {
  await db.run(
    `with held as materialized (
       select slice from slice_owners
        where redrive_id = $1 and owner = $2 and (slice, epoch) in (select * from unnest($3::int[], $4::bigint[]))
        order by slice for no key update
     )
     update slice_owners o set owner = null from held h where o.redrive_id = $1 and o.slice = h.slice`,
    [redriveId, workerId, [...epochs.keys()], [...epochs.values()].map(String)],
    { name: "release-slices" },
  );
}

/**
 * Frees the slices that match `which`. Their epoch is raised first: an intent or an end of before is refused from then on. What it had
 * under way becomes ambiguous: a bounded number of sends, whatever is waiting. Returns the number of slices.
 */
async function freeSlices(tx: Tx, which: string, values: unknown[]): Promise<number> {
  const freed = await tx.query<{ redriveId: string; slice: number; epoch: string }>(
    `with lost as materialized (
       select redrive_id, slice from slice_owners o where o.owner is not null and ${which} order by redrive_id, slice for update
     )
     update slice_owners o set owner = null, epoch = o.epoch + 1
       from lost l where o.redrive_id = l.redrive_id and o.slice = l.slice
     returning o.redrive_id as "redriveId", o.slice, o.epoch::text as epoch`,
    values,
  );
  if (freed.length === 0) return 0;
  await tx.run(
    `with freed as materialized (
       select * from unnest($1::uuid[], $2::int[], $3::bigint[]) as w(redrive_id, slice, epoch)
     ), lost as (
       ${endAsLost("exists (select from freed f where f.redrive_id = o.redrive_id and f.slice = o.slice and o.fence < f.epoch)")}
       returning id, redrive_id, attempt
     ), counted as materialized (
       select l.id, l.attempt
         from (select id, redrive_id, max(attempt) as attempt from lost group by id, redrive_id order by id) l
        cross join lateral (
          select from open_items o where o.id = l.id and ${checked("o.redrive_id", "l.redrive_id")} for no key update of o) held
     )
     update open_items i set attempts = greatest(i.attempts, c.attempt) from counted c where i.id = c.id`,
    columnsOf(freed, "redriveId", "slice", "epoch"),
  );
  return freed.length;
}

/**
 * Gives up workers without a heartbeat for `lostMs`, or whose last one is in the future: removes their heartbeats and frees their slices.
 * Only for a worker whose own heartbeat is no older than half of that: else the store was away for all of them. Returns the number of
 * slices; null = no worker is lost. A worker that was only slow is refused by the epoch.
 */
export async function freeLostSlices(tx: Tx, workerId: string, lostMs: number): Promise<number | null> {
  const alive = await tx.query(
    `select 1 from worker_heartbeats own where own.id = $1 and ${isWithin("own.seen_at", "make_interval(secs => $2::float8 / 2)")}`,
    [workerId, lostMs / 1000],
  );
  if (alive.length === 0) return null;
  const lost = await tx.run(
    `delete from worker_heartbeats where id <> $1 and ${isOver("seen_at", "make_interval(secs => $2::float8)")}`,
    [workerId, lostMs / 1000],
  );
  const freed = await freeSlices(tx, "not exists (select from worker_heartbeats h where h.id = o.owner)", []);
  return lost + freed === 0 ? null : freed;
}

/** Frees these slices of one worker. */
export function abandonSlices(tx: Tx, { redriveId, slices, workerId }: Slices & { workerId: string }): Promise<number> {
  return freeSlices(tx, "o.owner = $1 and o.redrive_id = $2 and o.slice between $3 and $4", [
    workerId,
    redriveId,
    ...slices,
  ]);
}

/**
 * Locks the slices of these open items, for a transaction that takes some of them out of their redrives: it waits for the intents and ends
 * under way and sees them with its next statement; no intent of these slices is recorded before it has ended. Returns the slices: an item
 * of another one came meanwhile, and is not locked.
 */
export async function lockSlicesOf(
  tx: Tx,
  items: { ids: readonly string[] } | { redriveId: string },
): Promise<{ redriveId: string; slice: number }[]> {
  const [which, value] =
    "ids" in items
      ? ["(redrive_id, slice) in (select redrive_id, slice from open_items where id = any($1::uuid[]))", items.ids]
      : ["redrive_id = $1", items.redriveId];
  return tx.query(
    `select redrive_id as "redriveId", slice from slice_owners where ${which} order by redrive_id, slice for no key update`,
    [value],
  );
}

type OwnedSlice = { redriveId: string; slice: number; epoch: string };

export function ownedSlices(db: Queryable, workerId: string): Promise<OwnedSlice[]> {
  return db.query(`select redrive_id as "redriveId", slice, epoch::text as epoch from slice_owners where owner = $1`, [
    workerId,
  ]);
}

/** Frees slices that a worker owns since an answer of the store was lost; none that it has taken anew meanwhile. */
export function freeForgottenSlices(tx: Tx, workerId: string, forgotten: readonly OwnedSlice[]): Promise<number> {
  return freeSlices(
    tx,
    "o.owner = $1 and (o.redrive_id, o.slice, o.epoch) in (select * from unnest($2::uuid[], $3::int[], $4::bigint[]))",
    [workerId, ...columnsOf(forgotten, "redriveId", "slice", "epoch")],
  );
}
