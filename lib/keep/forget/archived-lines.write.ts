import { leaveOver } from "@/lib/keep/archive/leftovers.write";
import type { ForgetScope } from "@/lib/keep/forget/matching-events.read";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";

export type ArchivedObject = {
  id: string;
  operationId: string;
  source: string;
  key: string;
  sha256: string;
  removedBy: string;
  removedAtMs: number;
  /** Of its events, those that lie there: others were restored. */
  ids: string[];
};

/** Locks the next object that may hold matching lines. Objects whose events were all restored still have their lines. */
export async function nextObject(tx: Tx, scope: ForgetScope, after: string | null): Promise<ArchivedObject | null> {
  for (;;) {
    const [next] = await tx.query<{ id: string }>(
      `select id from archive_objects where ($1::uuid is null or id > $1) and ($2::text is null or source = $2)
        order by id limit 1`,
      [after, scope.source],
    );
    if (next === undefined) return null;
    const [row] = await tx.query<ArchivedObject>(
      `select o.id, o.operation_id as "operationId", o.source, o.key, o.sha256, o.removed_by as "removedBy",
              o.removed_at as "removedAtMs", array(select a.id::text from archived_events a where a.object_id = o.id) as ids
         from archive_objects o where o.id = $1 for update of o`,
      [next.id],
    );
    // Another forget has replaced it while this one waited: its other lines lie in a set that a statement from now on sees.
    if (row !== undefined) return row;
  }
}

/** How many objects would be read. */
export async function countObjects(db: Queryable, { source }: ForgetScope): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    "select count(*)::int as n from archive_objects where $1::text is null or source = $1",
    [source],
  );
  return row!.n;
}

/** Whether an event is of the window, by its id. */
export function isInWindow(id: string, { fromMs, toMs }: ForgetScope): boolean {
  if (fromMs !== null && id < uuidv7LowerBound(fromMs)) return false;
  return toMs === null || id < uuidv7LowerBound(toMs);
}

/** The object leaves the list, and its keys are to be removed from the archive. `places`: where its other events lie now. */
export async function replaceObject(
  tx: Tx,
  object: ArchivedObject,
  places: readonly { id: string; objectId: string }[],
  keys: readonly string[],
): Promise<void> {
  await tx.run(
    `update archived_events a set object_id = w.object_id from unnest($1::uuid[], $2::uuid[]) as w(id, object_id)
      where a.id = w.id and a.object_id = $3`,
    [places.map(({ id }) => id), places.map(({ objectId }) => objectId), object.id],
  );
  await tx.run("delete from archive_objects where id = $1", [object.id]);
  await leaveOver(tx, keys);
}
