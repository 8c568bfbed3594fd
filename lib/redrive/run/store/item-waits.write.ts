import { inLine } from "@/lib/order/line.sql";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { checked, ownedItem, ownedItems } from "@/lib/states/fence.write";

/**
 * What an item waits for. `not_before` is null when it waits for nothing, a time, or infinity while an earlier event of its aggregate is
 * open: the end of that one wakes it.
 */

/** An item whose target asked for a pause. */
export type ItemHold = { id: string; redriveId: string; slice: number; fence: bigint; waitMs: number };

/**
 * Stores the pause that a target asked for, on the store's clock: the next worker of the item waits at least as long, even if its present
 * one is killed.
 */
export async function holdItems(db: Queryable, holds: readonly ItemHold[]): Promise<void> {
  if (holds.length === 0) return;
  await db.run(
    `with w as materialized (
       select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::float8[], $5::int[]) as w(id, redrive_id, fence, wait_ms, slice)
     )${ownedItems("w.redrive_id", "wait")}
     update open_items i set not_before = now() + w.wait_ms * interval '1 ms'
       from held w where ${ownedItem("w.redrive_id")}`,
    columnsOf(holds, "id", "redriveId", "fence", "waitMs", "slice"),
    { name: "hold-items" },
  );
}

/** Items of an aggregate that are woken at once: one run of its aggregate. */
const WOKEN_MAX = 100;

type Woken = { redriveId: string; lane: RedriveRow["lane"]; slice: number };

/**
 * Wakes the items that wait for an earlier event of the aggregates of these: the first open event of an aggregate, if it waits so, with
 * what comes behind it in its redrive. Whoever closes items, or makes them wait, commits and then calls this: one of the two sees the
 * other. Returns the slices of the woken items.
 */
export async function wakeBehind(db: Queryable, ids: readonly string[]): Promise<Woken[]> {
  return db.query(
    `with changed as materialized (
       select distinct source_id, aggregate_type, aggregate_id from redrive_items
        where id = any($1::uuid[]) and aggregate_id is not null
          and exists (select 1 from open_items where not_before = 'infinity')
     ), first as materialized (
       select c.*, f.redrive_id
         from changed c
        cross join lateral (
          select l.id, l.redrive_id from aggregate_lines l where ${inLine("l", "c", "open")} order by l.place, l.id limit 1) f
         join open_items i on i.id = f.id and ${checked("i.redrive_id", "f.redrive_id")} and ${checked("i.not_before", "'infinity'::timestamptz")}
     ), waiting as materialized (
       select i.id, i.redrive_id
         from first c
        cross join lateral (
          select l.id from aggregate_lines l
           where ${inLine("l", "c", "open")} and l.redrive_id = c.redrive_id order by l.place, l.id limit ${WOKEN_MAX}) n
         join open_items i on i.id = n.id and ${checked("i.redrive_id", "c.redrive_id")} and ${checked("i.not_before", "'infinity'::timestamptz")}
        order by i.id for no key update of i
     ), woken as (
       update open_items i set not_before = now()
         from waiting w where ${ownedItem("w.redrive_id")}
       returning i.redrive_id, i.slice
     )
     select distinct w.redrive_id as "redriveId", w.slice, r.lane from woken w join redrives r on r.id = w.redrive_id`,
    [ids],
    { name: "wake-behind" },
  );
}

const PAGE = 1_000;

/** The next items that wait for an earlier event of their aggregate, by id; empty = those were the last. */
export async function itemsBehind(db: Queryable, after: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from open_items where not_before = 'infinity' and id > $1 order by id limit ${PAGE}`,
    [after],
    { name: "items-behind" },
  );
  return rows.map(({ id }) => id);
}
