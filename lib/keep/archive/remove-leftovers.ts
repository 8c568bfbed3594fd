import { forgetLeftovers, lockDue, putOff } from "@/lib/keep/archive/leftovers.write";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Of one call. */
const LEFTOVERS_MAX = 100;
/** Longer than a removal of these takes. */
const REMOVING_MS_MAX = 120_000;

type SweepDeps = { db: Db; archive: ArchiveStore | null; log: Log };

/** Removes objects that no row names. One that cannot be removed now is tried again later. */
export async function removeLeftovers({ db, archive, log }: SweepDeps): Promise<void> {
  if (archive === null) return;
  await db.transaction(async (tx) => {
    await tx.run(`set local idle_in_transaction_session_timeout = ${REMOVING_MS_MAX}`);
    const [removed, failed]: [string[], string[]] = [[], []];
    for (const key of await lockDue(tx, LEFTOVERS_MAX)) {
      try {
        await archive.remove(key);
        removed.push(key);
      } catch (error) {
        failed.push(key);
        log.warn({ key, err: error }, "an object of the archive could not be removed, it is tried again");
        if (error instanceof DomainError && error.code === "archive-unavailable") break;
      }
    }
    if (removed.length > 0) await forgetLeftovers(tx, removed);
    if (failed.length > 0) await putOff(tx, failed);
  });
}
