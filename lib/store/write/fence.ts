import { ITEM } from "@/lib/store/state-sql";

/**
 * `column = value` in a form that no index can serve, not even a partial one. A batch names its rows by id and only
 * checks the other columns. The statistics do not yet cover a redrive that was frozen a moment ago, so the planner
 * would choose an index over redrive or state as readily as the primary key, and each batch would read all open rows.
 */
export function checked(column: string, value: string): string {
  return `${column} is not distinct from ${value}`;
}

/**
 * SQL: the item `i` is named by `w` (`id`, `fence`) and is still held by the worker that claimed it with this fence.
 * Each claim raises the fence: a worker that lost its claim changes nothing.
 */
export function heldItem(redriveId: string): string {
  return `i.id = w.id and i.fence = w.fence and ${checked("i.redrive_id", redriveId)} and ${checked("i.state", ITEM.open)}`;
}
