import { sendsStopped } from "@/lib/guard/stops/stop.sql";
import type { Queryable } from "@/lib/platform/database/db";
import type { RedriveState } from "@/lib/redrive/states/redrive-state.pure";
import { ITEM, LIVE_REDRIVES, OPEN_ITEMS, REDRIVE } from "@/lib/redrive/states/state.sql";

/** Slices of a redrive with open items. There is at most one slice for each 64 items. */
export async function openSlices(db: Queryable, redriveId: string): Promise<number[]> {
  const rows = await db.query<{ slice: number }>(
    `select distinct slice from redrive_items where redrive_id = $1 and state = ${ITEM.open} order by slice`,
    [redriveId],
  );
  return rows.map((row) => row.slice);
}

/**
 * Operations add the jobs of the redrives that they start or resume: before this time a slice is not missing from the
 * queue.
 */
const RUNG_SOON = "2 s";

/**
 * The slices of running redrives whose jobs the queue must hold: slices with items that nobody holds, that wait for no
 * time, and whose target is not stopped. Slices of a redrive that started or resumed just now, and slices that wait for another redrive, are included
 * only with `all`.
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
            and (not_before is null or not_before <= now()) and not ${sendsStopped("redrive_items.source_id")}
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
