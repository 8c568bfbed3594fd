import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { CHART_BUCKETS_MAX, chartBucketMs } from "@/lib/redrive/pace/redrive-estimate.pure";
import { FINAL_REDRIVES, LIVE_REDRIVES } from "@/lib/states/state.sql";

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

/** More ticks of a redrive are merged: twice as many as its chart has buckets. */
const TICKS_MAX = 2 * CHART_BUCKETS_MAX;
/** Ticks of one statement: the next round continues. */
const FOLDED_MAX = 5_000;
/** SQL: the rate of a redrive is no longer read from the tick `t`. */
const SETTLED = "t.at < now() - interval '1 minute'";

/**
 * Merges the ticks of redrives under way into buckets of their charts, so that a chart reads a bounded number of ticks however long its
 * redrive runs. A merged tick has the time of its last one: when the redrive sent last. Returns the number of redrives with merged ticks.
 */
export async function foldTicks(db: Db): Promise<number> {
  const ends = (order: string) =>
    `(select t.at from redrive_ticks t where t.redrive_id = r.id and ${SETTLED} order by t.at ${order} limit 1)`;
  const long = await db.query<{ id: string; firstMs: number; lastMs: number }>(
    `select r.id, ${ends("asc")} as "firstMs", ${ends("desc")} as "lastMs" from redrives r
      where r.state in ${LIVE_REDRIVES}
        and exists (select from redrive_ticks t where t.redrive_id = r.id and ${SETTLED} order by t.at offset ${TICKS_MAX})`,
    [],
    { name: "long-redrives" },
  );
  for (const { id, firstMs, lastMs } of long) {
    await db.run(
      `with folded as (
         delete from redrive_ticks where ctid = any(array(
           select t.ctid from redrive_ticks t where t.redrive_id = $1 and ${SETTLED} order by t.at limit ${FOLDED_MAX}))
         returning at, delivered, failed, refused)
       insert into redrive_ticks (redrive_id, at, delivered, failed, refused)
       select $1, max(at), sum(delivered), sum(failed), sum(refused) from folded
        group by date_bin(make_interval(secs => $2::float8 / 1000), at, 'epoch')`,
      [id, chartBucketMs(lastMs - firstMs)],
    );
  }
  return long.length;
}

/** Items of one redrive that one statement looks at. */
const LOOKED_AT_MAX = 5_000;
const FIRST = "00000000-0000-0000-0000-000000000000";

/**
 * Removes those of these redrives whose events are all out of the store and no longer known to any source. A redrive is removed as a
 * whole, so that its counters always equal its items. The audit is kept.
 */
export async function removeUnknownRedrives(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const id of await unknownAmong(tx, ids)) {
    await tx.run("delete from redrives where id = $1", [id]);
    for (let removed = ITEMS_MAX; removed === ITEMS_MAX; ) {
      removed = await tx.run(
        `delete from redrive_items i using (select id, redrive_id from redrive_items where redrive_id = $1 limit ${ITEMS_MAX}) page
          where i.id = page.id and i.redrive_id = page.redrive_id`,
        [id],
      );
    }
    await tx.run("delete from redrive_ticks where redrive_id = $1", [id]);
    await tx.run("delete from slice_owners where redrive_id = $1", [id]);
    await tx.run("delete from redrive_rule_runs where redrive_id = $1", [id]);
    await tx.run("delete from operation_tells where operation_id = $1", [id]);
  }
}

/** Where the next look at the items of a redrive begins. `from`: where the first one began. */
type Look = { id: string; item: string; from: "known" | "first" };
type Seen = { id: string; known: string | null; item: string | null };

/**
 * The ended redrives without any known item. Each call looks on from the item that was known last time, so that the sets of a redrive
 * cost one look at each of its items, not one each. An event may be restored behind that item: before a redrive is removed, its items
 * are looked at from the first one.
 */
async function unknownAmong(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const unknown: string[] = [];
  for (let open = await lockEnded(tx, ids); open.length > 0; ) {
    const known: Seen[] = [];
    const next: Look[] = [];
    for (const [index, seen] of (await lookAtItems(tx, open)).entries()) {
      const { id, from } = open[index]!;
      if (seen.known !== null) known.push(seen);
      else if (seen.item !== null) next.push({ id, from, item: seen.item });
      else if (from === "known") next.push({ id, from: "first", item: FIRST });
      else unknown.push(id);
    }
    await tx.run(
      `update redrives r set known_item = w.item from unnest($1::uuid[], $2::uuid[]) as w (id, item)
        where r.id = w.id and r.known_item is distinct from w.item`,
      [known.map(({ id }) => id), known.map((seen) => seen.known)],
    );
    open = next;
  }
  return unknown;
}

/** If two transactions remove known events of one redrive, the second waits here, and sees what the first has removed. */
async function lockEnded(tx: Tx, ids: readonly string[]): Promise<Look[]> {
  if (ids.length === 0) return [];
  await tx.query("select 1 from redrives where id = any($1::uuid[]) order by id for update", [ids]);
  const rows = await tx.query<{ id: string; item: string | null }>(
    `select r.id, r.known_item as item from redrives r
      where r.id = any($1::uuid[]) and r.state in ${FINAL_REDRIVES}`,
    [ids],
  );
  return rows.map(({ id, item }) => (item === null ? { id, from: "first", item: FIRST } : { id, from: "known", item }));
}

/** Of each redrive, in their order, the first known item of the next LOOKED_AT_MAX; without one, where the items after them begin. */
function lookAtItems(tx: Tx, looks: readonly Look[]): Promise<Seen[]> {
  const rest = `from redrive_items i where i.redrive_id = w.id and i.id >= w.item`;
  return tx.query<Seen>(
    `select w.id, k.id as known, l.id as item
       from unnest($1::uuid[], $2::uuid[]) with ordinality as w (id, item, place)
       left join lateral (
         select p.id from (select i.id ${rest} order by i.id limit ${LOOKED_AT_MAX}) p
          where exists (select 1 from dlq_events e where e.id = p.id)
             or exists (select 1 from archived_events a join archive_objects o on o.id = a.object_id
                         where a.id = p.id and o.keys_removed_at is null)
          limit 1) k on true
       left join lateral (
         select i.id ${rest} and k.id is null order by i.id offset ${LOOKED_AT_MAX} limit 1) l on true
      order by w.place`,
    [looks.map(({ id }) => id), looks.map(({ item }) => item)],
    { name: "known-items" },
  );
}
