import { inLine } from "@/lib/order/line.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { checked } from "@/lib/redrive/run/store/fence.write";
import { ITEM, REDRIVE } from "@/lib/redrive/states/state.sql";

/**
 * Stores that every open item of a slice waits for items of another redrive. When those items are finished, the slice
 * gets its job; otherwise the reconciler adds the job only after `forMs`.
 */
export async function rememberSliceWait(db: Queryable, redriveId: string, slice: number, forMs: number): Promise<void> {
  await db.run(
    `insert into slice_waits (redrive_id, slice, until) values ($1, $2, now() + make_interval(secs => $3))
     on conflict (redrive_id, slice) do update set until = excluded.until`,
    [redriveId, slice, forMs / 1000],
    { name: "remember-slice-wait" },
  );
}

/** SQL: the redrive `r` runs, and no canary holds it back. */
const RELEASED = `r.state = ${REDRIVE.RUNNING} and r.released is null`;

/**
 * SQL: the slices of other running redrives that hold the first open item of an aggregate of which `ids` (items of
 * redrive $1) were closed. The items behind the first one wait for it. A slice of a canary is left out: the canary adds
 * its own job. Where no other redrive runs, which is asked once, no item is read.
 */
const NEXT_IN_LINE = `
  from (select distinct source_id, aggregate_type, aggregate_id from redrive_items
         where id = any($2::uuid[]) and ${checked("redrive_id", "$1::uuid")} and aggregate_id is not null) closed
 cross join lateral (
   select o.redrive_id, o.slice
     from aggregate_lines l join redrive_items o on o.id = l.id and o.redrive_id = l.redrive_id and o.state = ${ITEM.open}
    where ${inLine("l", "closed", "open")}
    order by l.place, l.id
    limit 1) next
  join redrives r on r.id = next.redrive_id
 where next.redrive_id <> $1::uuid and ${RELEASED}
   and exists (select 1 from redrives r where r.id <> $1::uuid and ${RELEASED})`;

export async function slicesNextInLine(
  db: Queryable,
  redriveId: string,
  ids: readonly string[],
): Promise<{ lane: "main" | "slow"; redriveId: string; slice: number }[]> {
  return db.query(
    `select distinct r.lane, next.redrive_id as "redriveId", next.slice ${NEXT_IN_LINE}`,
    [redriveId, ids],
    { name: "slices-next-in-line" },
  );
}

/** The reconciler's next round adds the jobs of the slices that waited for these items. */
export async function endSliceWaits(tx: Tx, redriveId: string, ids: readonly string[]): Promise<void> {
  await tx.run(
    `with ended as materialized (
       select w.redrive_id, w.slice from slice_waits w
        where (w.redrive_id, w.slice) in (select next.redrive_id, next.slice ${NEXT_IN_LINE})
        order by w.redrive_id, w.slice for update
     )
     delete from slice_waits w using ended e where w.redrive_id = e.redrive_id and w.slice = e.slice`,
    [redriveId, ids],
    { name: "end-slice-waits" },
  );
}
