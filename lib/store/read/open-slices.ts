import type { RedriveState } from "@/lib/core/redrive-state";
import type { Queryable } from "@/lib/store/db";
import { ITEM, LIVE_REDRIVES, OPEN_ITEMS, REDRIVE } from "@/lib/store/state-sql";

/** Slices of a redrive that have open items. At most one number for each 64 items. */
export async function openSlices(db: Queryable, redriveId: string): Promise<number[]> {
  const rows = await db.query<{ slice: number }>(
    `select distinct slice from redrive_items where redrive_id = $1 and state = ${ITEM.open} order by slice`,
    [redriveId],
  );
  return rows.map((row) => row.slice);
}

/** Live redrives with the slices that nobody works on right now: what the queue must hold. */
export async function idleSlices(
  db: Queryable,
): Promise<{ redriveId: string; lane: "main" | "slow"; canary: boolean; slice: number }[]> {
  return db.query(
    `select r.id as "redriveId", r.lane, r.released is not null as canary, i.slice
       from redrives r
       join lateral (
         select distinct slice from redrive_items
          where redrive_id = r.id and state = ${ITEM.open} and (claimed_until is null or claimed_until < now())
            and (not_before is null or not_before <= now())
       ) i on true
      where r.state = ${REDRIVE.RUNNING}`,
  );
}

/** Redrives that are not final, and cancelled ones that still hold items. `open` counts by the redrive's counters. */
export async function unfinishedRedrives(
  db: Queryable,
): Promise<{ id: string; lane: "main" | "slow"; state: RedriveState; open: number }[]> {
  return db.query(
    `select id, lane, state, ${OPEN_ITEMS} as open
       from redrives r
      where state in ${LIVE_REDRIVES}
         or (state = ${REDRIVE.CANCELLED} and ${OPEN_ITEMS} > 0)`,
  );
}
