import type { EventStatus } from "@/lib/events/event-state.pure";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { uuidv7TimeMs } from "@/lib/platform/ids";
import { ITEM } from "@/lib/redrive/states/state.sql";

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

/**
 * SQL: the rows of `w` (`id`, `fence`) whose items are still held, as `locked`. The items are locked in the order of their ids,
 * as every statement locks the items that it changes: two of them wait for each other and never deadlock.
 *
 * Each row looks up its own item. With the list of ids as a condition PostgreSQL reads the items first and then compares each of
 * them with each row of `w`: half of the time of a batch of a hundred.
 */
export function lockedItems(redriveId: string): string {
  return `, locked as materialized (
    select w.* from (select * from w order by w.id, ${redriveId}) w
     cross join lateral (select from redrive_items i where ${heldItem(redriveId)} for no key update of i) held
  )`;
}

/** SQL: the item `i` is the one of the row `w` of `lockedItems`. */
export function lockedItem(redriveId: string): string {
  return `i.id = w.id and ${checked("i.redrive_id", redriveId)} and ${checked("i.state", ITEM.open)}`;
}

export type LockedEvent = { id: string; status: EventStatus; revision: number; confirmed: boolean };

/**
 * Locks events in the order of their ids: every statement that changes several events locks them here first, so that
 * two transactions with common events wait for each other and never deadlock. Returns them as they are now.
 *
 * A statement of its own: PostgreSQL 18 crashes where a row that it waited for is looked at again in a statement that
 * also prunes partitions while it runs. So it has no name, is planned for its values, and nothing is left to prune. Ids of one day
 * are hidden from the planner, which would estimate each of them, 3 ms for a hundred; the span alone leaves their one partition.
 */
export async function lockEvents(tx: Tx, ids: readonly string[]): Promise<Map<string, LockedEvent>> {
  const [least, greatest] = idSpan(ids);
  const oneDay = least !== null && dayOf(least) === dayOf(greatest!);
  const rows = await tx.query<LockedEvent>(
    `select id, status, revision, confirmed_at is not null as confirmed from dlq_events
      where ${oneDay ? "id = any(array(select unnest($1::uuid[]))) and id between $2 and $3" : "id = any($1::uuid[])"}
      order by id for no key update`,
    oneDay ? [ids, least, greatest] : [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The days of partitions are those of UTC. */
function dayOf(id: string): number {
  return Math.floor(uuidv7TimeMs(id) / 86_400_000);
}
