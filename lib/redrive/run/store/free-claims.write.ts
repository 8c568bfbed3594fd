import type { Queryable, Tx } from "@/lib/platform/database/db";
import { isOver, isWithin } from "@/lib/platform/database/moments.sql";
import type { ClaimedItem } from "@/lib/redrive/run/store/claim-items.write";
import { lockedItem, lockedItems } from "@/lib/redrive/run/store/fence.write";
import { ITEM, OPEN_ITEMS, REDRIVE, WORKED_REDRIVES } from "@/lib/redrive/states/state.sql";

/**
 * SQL: ends the leases of the aggregates whose items `freed` has given back. As at the end of an item, the lease ends
 * in the past, at a time that no other lease has; rows are locked in the same order as claims lock them.
 */
const END_LEASES = `, held as materialized (
  select a.source_id, a.aggregate_type, a.aggregate_id
    from aggregates a
    join (select distinct redrive_id, source_id, aggregate_type, aggregate_id from freed where aggregate_id is not null) f
      on a.aggregate_id = f.aggregate_id and a.source_id = f.source_id and a.aggregate_type = f.aggregate_type
     and a.lease_redrive = f.redrive_id
   order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
), leases as (
  update aggregates a set lease_until = clock_timestamp() - interval '1 day'
    from held h
   where a.source_id = h.source_id and a.aggregate_id = h.aggregate_id and a.aggregate_type = h.aggregate_type
)`;

/**
 * Gives items back after an error of the worker, with the leases of their aggregates: no redrive waits for the end of
 * the lease. Closed items stay as they are.
 */
export async function releaseClaims(db: Queryable, items: readonly ClaimedItem[]): Promise<void> {
  await db.query(
    `with w as materialized (select * from unnest($2::uuid[], $3::bigint[]) as w(id, fence))${lockedItems("$1::uuid")}, freed as (
       update redrive_items i set claimed_until = null
         from locked w where ${lockedItem("$1::uuid")}
       returning i.redrive_id, i.source_id, i.aggregate_type, i.aggregate_id
     )${END_LEASES}
     select count(*)::int as n from freed`,
    [items[0]!.redriveId, items.map((item) => item.id), items.map((item) => item.fence.toString())],
    { name: "release-claims" },
  );
}

/** Redrives whose items may be claimed. */
const LIVE = `(r.state in ${WORKED_REDRIVES} or r.state = ${REDRIVE.CANCELLED} and ${OPEN_ITEMS} > 0)`;

/** Gives back claims, and the leases of their aggregates. @param which SQL over `i`, an open item of a live redrive */
function giveBack(which: string): string {
  return `
with lost as materialized (
  select i.id, i.redrive_id
    from redrives r join redrive_items i on i.redrive_id = r.id
   where ${LIVE} and i.state = ${ITEM.open} and i.claimed_until >= now() and ${which}
   order by i.id, i.redrive_id for no key update of i
), freed as (
  update redrive_items i set claimed_until = null
    from lost l
   where i.id = l.id and i.redrive_id = l.redrive_id
  returning i.redrive_id, i.source_id, i.aggregate_type, i.aggregate_id
)${END_LEASES}
select count(*)::int as n from freed`;
}

const FREE_LOST = giveBack("i.claimed_by = any($1::uuid[])");
const FREE_FORGOTTEN = giveBack(`i.claimed_by = $1::uuid and i.claimed_until < now() + make_interval(secs => $4)
  and not exists (select 1 from unnest($2::uuid[], $3::bigint[]) as held(id, fence) where held.id = i.id and held.fence = i.fence)`);

/**
 * Ends the claims of workers without a heartbeat for `lostMs`, or whose last one is in the future, and removes their heartbeats. Only for a worker whose
 * own heartbeat is no older than half of that: else the store was away for all of them. Returns the number of items
 * that the lost workers held, null when no worker is lost. A worker that was only slow is stopped by the fence of the
 * next claim.
 */
export async function freeLostClaims(tx: Tx, workerId: string, lostMs: number): Promise<number | null> {
  const lost = await tx.query<{ id: string }>(
    `delete from worker_heartbeats
      where ${isOver("seen_at", "make_interval(secs => $2)")}
        and exists (select 1 from worker_heartbeats own where own.id = $1 and ${isWithin("own.seen_at", "make_interval(secs => $2 / 2)")})
     returning id`,
    [workerId, lostMs / 1000],
  );
  if (lost.length === 0) return null;
  const [row] = await tx.query<{ n: number }>(FREE_LOST, [lost.map(({ id }) => id)]);
  return row!.n;
}

/**
 * Ends the claims of one worker that it does not know of, because the store's answer was lost. `held` are the items
 * that it knows of. Claims made or renewed in the last `recentMs` stay, because their answer may still arrive.
 */
export async function freeForgottenClaims(
  db: Queryable,
  workerId: string,
  held: readonly { id: string; fence: bigint }[],
  { leaseMs, recentMs }: { leaseMs: number; recentMs: number },
): Promise<number> {
  const [row] = await db.query<{ n: number }>(FREE_FORGOTTEN, [
    workerId,
    held.map(({ id }) => id),
    held.map(({ fence }) => fence.toString()),
    (leaseMs - recentMs) / 1000,
  ]);
  return row!.n;
}
