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

/** Operations ring what they start or resume: until then a slice is not missing from the queue. */
const RUNG_SOON = "2 s";

/**
 * The slices of running redrives whose jobs the queue must hold: with items that nobody holds and that wait for no time. Not
 * those of a redrive that has started or resumed just now, nor those that wait for another redrive, unless `all` are asked
 * for.
 */
export async function idleSlices(
  db: Queryable,
  { all }: { all: boolean },
): Promise<{ redriveId: string; lane: "main" | "slow"; canary: boolean; slice: number }[]> {
  return db.query(
    `select r.id as "redriveId", r.lane, r.released is not null as canary, i.slice
       from redrives r
       join lateral (
         select distinct slice from redrive_items
          where redrive_id = r.id and state = ${ITEM.open} and (claimed_until is null or claimed_until < now())
            and (not_before is null or not_before <= now())
       ) i on true
      where r.state = ${REDRIVE.RUNNING}
        and ($1 or (coalesce(r.sampled_from < now() - interval '${RUNG_SOON}', true)
                    and not exists (select 1 from slice_waits w
                                     where w.redrive_id = r.id and w.slice = i.slice and w.until > now())))`,
    [all],
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
