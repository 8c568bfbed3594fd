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
    "insert into archive_leftovers (key, remove_at, replaced) select k, now(), true from unnest($1::text[]) k on conflict do nothing",
    [keys],
  );
}

/** After a restore: unfinished objects may have been named since by the original store, and replaced ones are named by nobody. */
export async function keepUnfinished(tx: Tx): Promise<void> {
  await tx.run("delete from archive_leftovers where not replaced");
}

/** Keys of objects that can be removed now. Locked: a chunk that comes late to name what it has written waits, and finds them gone. */
export async function lockDue(tx: Tx, limit: number): Promise<string[]> {
  const due = await tx.query<{ key: string }>(
    "select key from archive_leftovers where remove_at <= now() order by remove_at limit $1 for update skip locked",
    [limit],
  );
  return due.map(({ key }) => key);
}

export async function forgetLeftovers(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx.run("delete from archive_leftovers where key = any($1::text[])", [keys]);
}

const AGAIN_MINUTES = 5;

/** Those that could not be removed: others come first. */
export async function putOff(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx.run(
    `update archive_leftovers set remove_at = now() + interval '${AGAIN_MINUTES} minutes' where key = any($1::text[])`,
    [keys],
  );
}

/** Objects that a forget has replaced, and that lie in the archive still. `failed` of them could not be removed. */
export async function countReplaced(db: Queryable): Promise<{ all: number; failed: number }> {
  const [row] = await db.query<{ all: number; failed: number }>(
    `select count(*)::int as "all", (count(*) filter (where remove_at > now()))::int as failed
       from archive_leftovers where replaced`,
  );
  return row!;
}
