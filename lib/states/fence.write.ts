import type { Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import type { EventStatus } from "@/lib/states/event-state.pure";

/**
 * `column = value` in a form that no index can serve, not even a partial one. A batch names its rows by id and only
 * checks the other columns. The statistics do not yet cover a redrive that was frozen a moment ago, so the planner
 * would choose an index over redrive or state as readily as the primary key, and each batch would read all open rows.
 */
export function checked(column: string, value: string): string {
  return `${column} is not distinct from ${value}`;
}

/**
 * SQL: the rows of `w` (`id`, `slice`, `fence`) whose slices are still owned under this fence, as `held`, in the order of their ids. Each
 * taking of a slice raises its epoch: a worker that lost it changes nothing, and one that takes it waits for the statements under way. So
 * does whoever takes an item out of its redrive (`lockSlicesOf`): no open item of such a row leaves until this transaction ends.
 *
 * @param busy "wait" for who takes items out of a slice, or "skip" the rows of that slice
 */
export function ownedItems(redriveId: string, busy: "wait" | "skip"): string {
  return `, owned as materialized (
    select k.* from (select distinct ${redriveId} as redrive_id, w.slice, w.fence from w order by 1, 2, 3) k
     cross join lateral (
       select from slice_owners o
        where o.redrive_id = k.redrive_id and o.slice = k.slice and o.epoch = k.fence for share of o${busy === "skip" ? " skip locked" : ""}) held
  ), held as materialized (
    select w.* from w
     where exists (select from owned o where o.redrive_id = ${redriveId} and o.slice = w.slice and o.fence = w.fence)
     order by w.id
  )`;
}

/** SQL: the open item `i` is the one of the row `w` of `ownedItems`. */
export function ownedItem(redriveId: string): string {
  return `i.id = w.id and ${checked("i.redrive_id", redriveId)}`;
}

export type LockedEvent = { id: string; status: EventStatus; revision: number; confirmed: boolean };

/**
 * Locks events in the order of their ids: every statement that changes several events locks them here first, so that
 * two transactions with common events wait for each other and never deadlock. Returns them as they are now.
 *
 * A statement of its own, and one for each day of the ids: PostgreSQL 18 crashes where a row that it waited for is looked at
 * again in a statement that also prunes partitions while it runs. The bounds of the day stand in the text, so the plan has one
 * partition and is made once. With bounds as values it would be made each time, and each time the planner would look for the
 * least and the greatest id among the dead entries of an index that is being updated: 3 ms for a hundred events.
 */
export async function lockEvents(tx: Tx, ids: readonly string[]): Promise<Map<string, LockedEvent>> {
  const locked = new Map<string, LockedEvent>();
  const days = Map.groupBy(ids, dayOf);
  for (const day of [...days.keys()].sort((a, b) => a - b)) {
    const rows = await tx.query<LockedEvent>(
      `select id, status, revision, confirmed_at is not null as confirmed from dlq_events
        where id = any(array(select unnest($1::uuid[])))
          and id >= '${uuidv7LowerBound(day * DAY_MS)}' and id < '${uuidv7LowerBound((day + 1) * DAY_MS)}'
        order by id for no key update`,
      [days.get(day)],
      { name: `lock-events-${day}` },
    );
    for (const row of rows) locked.set(row.id, row);
  }
  return locked;
}

const DAY_MS = 86_400_000;

/** The days of partitions are those of UTC. */
function dayOf(id: string): number {
  return Math.floor(uuidv7TimeMs(id) / DAY_MS);
}
