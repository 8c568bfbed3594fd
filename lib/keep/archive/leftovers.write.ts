import type { Queryable, Tx } from "@/lib/platform/database/db";

/** Longer than a chunk or a step may last: until then what it has written is not taken for a leftover. */
const WRITING_MINUTES = 15;

/** Before objects are written: when nothing comes to name them, they are removed again. */
export async function rememberWriting(db: Queryable, keys: readonly string[]): Promise<void> {
  await db.run(
    `insert into archive_leftovers (key, remove_at) select k, now() + interval '${WRITING_MINUTES} minutes' from unnest($1::text[]) k`,
    [keys],
  );
}

/** Whether all of them are still remembered: then they are there, and stay. */
export async function keepWritten(tx: Tx, keys: readonly string[]): Promise<boolean> {
  return (await tx.run("delete from archive_leftovers where key = any($1::text[])", [keys])) === keys.length;
}

/** No row names these objects any more. */
export async function leaveOver(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx.run(
    "insert into archive_leftovers (key, remove_at) select k, now() from unnest($1::text[]) k on conflict do nothing",
    [keys],
  );
}

/** What can be removed from the archive now. */
export async function leftoverKeys(db: Queryable, limit: number): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    "select key from archive_leftovers where remove_at <= now() order by remove_at limit $1",
    [limit],
  );
  return rows.map(({ key }) => key);
}

export async function forgetLeftovers(db: Queryable, keys: readonly string[]): Promise<void> {
  await db.run("delete from archive_leftovers where key = any($1::text[])", [keys]);
}
