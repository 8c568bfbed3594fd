import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { workForgets } from "@/lib/keep/forget/work-forget";
import { runRetention } from "@/lib/keep/retention/expire-events";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Db, Tx } from "@/lib/platform/database/db";
import { runningBulkOperations } from "@/lib/selection/operations/bulk-operations.write";
import { type WorkingDeps, workBulkOperation } from "@/workers/work-bulk-operation";

export type KeepDeps = Omit<WorkingDeps, "archive"> & { archive: ArchiveStore };

const unended = new AbortController().signal;

async function workOperations(deps: KeepDeps): Promise<void> {
  for (const id of await runningBulkOperations(deps.db)) await workBulkOperation(deps, id, unended);
}

/** What moves events between the store and the archive, or deletes them. Each goes on where the last run of it ended. */
export const WORKS = {
  removal: workOperations,
  expiry: async (deps: KeepDeps) => {
    await runRetention({ ...deps, upkeepDb: deps.db });
    await workOperations(deps);
  },
  /** Of all that is archived. */
  restore: async (deps: KeepDeps) => {
    const rows = await deps.db.query<{ id: string }>("select id from archived_events order by id");
    if (rows.length > 0) await restoreArchived(deps, { ids: rows.map(({ id }) => id) }, localViewer("ada"));
  },
  forget: (deps: KeepDeps) => workForgets(deps, unended),
};

export type Work = keyof typeof WORKS;

type Step = {
  /** It leaves something behind when its process dies after it, as no read does and no statement within a transaction. */
  leaves: boolean;
  /** It sees what others have committed before it. */
  sees: boolean;
};

/** Calls `before` before each step: each call of the archive, each statement, and each commit. */
export function stepped(deps: KeepDeps, before: (step: Step) => Promise<void>): KeepDeps {
  const { db, archive } = deps;
  const after =
    <Given extends [string, ...unknown[]], T>(call: (...given: Given) => Promise<T>, step: (text: string) => Step) =>
    async (...given: Given): Promise<T> => {
      await before(step(given[0]));
      return call(...given);
    };
  const change = () => ({ leaves: true, sees: true });
  const read = () => ({ leaves: false, sees: true });
  const neither = () => ({ leaves: false, sees: false });
  const ofText = (text: string) => (text.trimStart().startsWith("select") ? read() : change());
  const steppedTx = (tx: Tx): Tx => ({
    ...tx,
    query: after(tx.query, read) as Tx["query"],
    run: after(tx.run, neither),
  });
  const steppedDb: Db = {
    ...db,
    query: after(db.query, ofText) as Db["query"],
    run: after(db.run, ofText),
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const result = await work(steppedTx(tx));
        await before({ leaves: options?.readOnly !== true, sees: false });
        return result;
      }, options),
  };
  const steppedArchive: ArchiveStore = {
    ...archive,
    put: after(archive.put, change),
    get: after(archive.get, read),
    remove: after(archive.remove, change),
  };
  return { ...deps, db: steppedDb, archive: steppedArchive };
}
