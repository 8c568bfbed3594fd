import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { FINAL_REDRIVES } from "@/lib/redrive/states/state.sql";

/** How long the chart of a redrive is kept after its end. */
const CHART_KEPT_DAYS = 30;
const DAY_MS = 86_400_000;
/** The most redrives of one round; the next round continues. */
const REDRIVES_MAX = 500;
/** A redrive may have a million items: batches keep each statement below its time limit. */
const ITEMS_MAX = 20_000;

/**
 * Removes the ticks of redrives that ended long ago. The oldest redrives have the smallest ids and are at the start of
 * the index, which takes one step for each redrive. Returns the number of redrives.
 */
export async function removeOldTicks(db: Db, nowMs: number): Promise<number> {
  const ended = await db.query<{ id: string }>(
    `with recursive named (id) as (
       (select t.redrive_id from redrive_ticks t where t.redrive_id < $1 order by t.redrive_id limit 1)
       union all
       select (select t.redrive_id from redrive_ticks t where t.redrive_id > n.id and t.redrive_id < $1 order by t.redrive_id limit 1)
         from named n where n.id is not null
     )
     select n.id from named n left join redrives r on r.id = n.id
      where n.id is not null
        and (r.id is null or (r.state in ${FINAL_REDRIVES} and r.finished_at < now() - interval '${CHART_KEPT_DAYS} days'))
      limit ${REDRIVES_MAX}`,
    [uuidv7LowerBound(nowMs - CHART_KEPT_DAYS * DAY_MS)],
    { name: "old-ticks" },
  );
  for (const { id } of ended) await db.run("delete from redrive_ticks where redrive_id = $1", [id]);
  return ended.length;
}

/**
 * Removes those of these redrives whose events are all out of the store and no longer known to any source. A redrive is removed as a
 * whole, so that its counters always equal its items. The audit is kept.
 */
export async function removeUnknownRedrives(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  // If two transactions remove known events of one redrive, the second waits here, and sees what the first has removed.
  await tx.query("select 1 from redrives where id = any($1::uuid[]) order by id for update", [ids]);
  const unknown = await tx.query<{ id: string }>(
    `delete from redrives r
      where r.id = any($1::uuid[]) and r.state in ${FINAL_REDRIVES} and not exists (
        select 1 from redrive_items i
         where i.redrive_id = r.id and (
           exists (select 1 from dlq_events e where e.id = i.id)
           or exists (select 1 from archived_events a join archive_objects o on o.id = a.object_id
                       where a.id = i.id and o.keys_removed_at is null)))
     returning r.id`,
    [ids],
  );
  for (const { id } of unknown) {
    for (let removed = ITEMS_MAX; removed === ITEMS_MAX; ) {
      removed = await tx.run(
        `delete from redrive_items i using (select id, redrive_id from redrive_items where redrive_id = $1 limit ${ITEMS_MAX}) page
          where i.id = page.id and i.redrive_id = page.redrive_id`,
        [id],
      );
    }
    await tx.run("delete from redrive_ticks where redrive_id = $1", [id]);
    await tx.run("delete from redrive_rule_runs where redrive_id = $1", [id]);
    await tx.run("delete from operation_tells where operation_id = $1", [id]);
  }
}
