import type { Queryable } from "@/lib/platform/database/db";
import type { RedriveState } from "@/lib/redrive/states/redrive-state.pure";
import { LIVE_REDRIVES, OPEN_ITEMS, REDRIVE } from "@/lib/redrive/states/state.sql";

/**
 * Operations add the jobs of the redrives that they start or resume: before this time a slice is not missing from the
 * queue.
 */
const RUNG_SOON = "2 s";

/**
 * The slices of running redrives whose jobs the queue must hold: nobody works them, and they have items that may be sent now. Slices of a
 * redrive that started or resumed just now are included only with `all`.
 */
export async function idleSlices(
  db: Queryable,
  { all }: { all: boolean },
): Promise<{ redriveId: string; lane: "main" | "slow"; canary: boolean; slice: number }[]> {
  const open = `from open_items i where i.redrive_id = r.id and i.slice = n.slice`;
  return db.query(
    `select r.id as "redriveId", r.lane, r.released is not null as canary, n.slice
       from redrives r cross join lateral generate_series(0, r.slices - 1) n(slice)
      where r.state = ${REDRIVE.RUNNING} and ($1 or coalesce(r.sampled_from < now() - interval '${RUNG_SOON}', true))
        and not exists (select from slice_owners o where o.redrive_id = r.id and o.slice = n.slice and o.owner is not null)
        and (exists (select ${open} and i.not_before is null) or exists (select ${open} and i.not_before <= now()))`,
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
