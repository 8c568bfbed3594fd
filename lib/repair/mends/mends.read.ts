import type { Queryable } from "@/lib/platform/database/db";

/** `$2`: the last event of the page before; null = start. Newest first. */
const BEHIND = (column: string) => `($2::uuid is null or ${column} < $2)`;

/** A page of the frozen events of a mend. */
export function readMendItems(
  db: Queryable,
  { operationId, after, limit }: { operationId: string; after: string | null; limit: number },
): Promise<{ id: string; base: number }[]> {
  return db.query(
    `select event_id as id, base from mend_items where operation_id = $1 and ${BEHIND("event_id")}
      order by event_id desc limit $3`,
    [operationId, after, limit],
  );
}

/** A page of the revisions that a mend has made. */
export function readMadeRevisions(
  db: Queryable,
  { operationId, after, limit }: { operationId: string; after: string | null; limit: number },
): Promise<{ id: string; revision: number; base: number }[]> {
  return db.query(
    `select id, revision, base from event_revisions where operation_id = $1 and ${BEHIND("id")} order by id desc limit $3`,
    [operationId, after, limit],
  );
}

/** The events of which this revision was sent, or may have been. The caller holds the rows of the events. */
export async function sentOf(db: Queryable, wanted: readonly { id: string; revision: number }[]): Promise<Set<string>> {
  const ids = wanted.map(({ id }) => id);
  const rows = await db.query<{ id: string }>(
    `select distinct a.id from sends a join unnest($1::uuid[], $2::int[]) as w(id, revision)
         on w.id = a.id and w.revision = a.revision
      where a.id = any($1::uuid[])`,
    [ids, wanted.map(({ revision }) => revision)],
  );
  return new Set(rows.map(({ id }) => id));
}
