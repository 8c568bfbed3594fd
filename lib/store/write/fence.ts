import { ITEM } from "@/lib/store/state-sql";

/**
 * `column = value` that no index can serve, not even a partial one. A batch names its rows by id and only checks the
 * rest: statistics never know a redrive that was frozen a moment ago, so an index over redrive or state looks as good as
 * the primary key, and then each batch reads everything that is open.
 */
export function checked(column: string, value: string): string {
  return `${column} is not distinct from ${value}`;
}

/**
 * SQL: the item `i` is the one that `w` names (`id`, `fence`), and still in the hand of the worker that claimed it with this
 * fence. Each claim raises the fence: a worker that lost its claim changes nothing.
 */
export function heldItem(redriveId: string): string {
  return `i.id = w.id and i.fence = w.fence and ${checked("i.redrive_id", redriveId)} and ${checked("i.state", ITEM.open)}`;
}
