import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import type { Db, Queryable, Tx } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";

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

const LEFTOVERS = 100;
/** Longer than a removal of these takes. */
const REMOVING_MS_MAX = 120_000;
const AGAIN_MINUTES = 5;

type SweepDeps = { db: Db; archive: ArchiveStore | null; log: Log };

/**
 * Removes objects that no row names. Their rows are locked meanwhile: a chunk that comes late to name what it has written finds
 * them gone. One that cannot be removed now is tried again later.
 */
export async function removeLeftovers({ db, archive, log }: SweepDeps): Promise<void> {
  if (archive === null) return;
  await db.transaction(async (tx) => {
    await tx.run(`set local idle_in_transaction_session_timeout = ${REMOVING_MS_MAX}`);
    const due = await tx.query<{ key: string }>(
      "select key from archive_leftovers where remove_at <= now() order by remove_at limit $1 for update skip locked",
      [LEFTOVERS],
    );
    if (due.length === 0) return;
    const [removed, failed]: [string[], string[]] = [[], []];
    for (const { key } of due) {
      try {
        await archive.remove(key);
        removed.push(key);
      } catch (error) {
        failed.push(key);
        log.warn({ key, err: error }, "an object of the archive could not be removed, it is tried again");
        if (isAway(error)) break;
      }
    }
    await tx.run("delete from archive_leftovers where key = any($1::text[])", [removed]);
    await tx.run(
      `update archive_leftovers set remove_at = now() + interval '${AGAIN_MINUTES} minutes' where key = any($1::text[])`,
      [failed],
    );
  });
}

const isAway = (error: unknown) => error instanceof DomainError && error.code === "archive-unavailable";

/** Objects that a forget has replaced, and that lie in the archive still. `failed` of them could not be removed. */
export async function countReplaced(db: Queryable): Promise<{ all: number; failed: number }> {
  const [row] = await db.query<{ all: number; failed: number }>(
    `select count(*)::int as "all", (count(*) filter (where remove_at > now()))::int as failed
       from archive_leftovers where replaced`,
  );
  return row!;
}
