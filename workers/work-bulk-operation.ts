import { type ChangeChunk, changeEnded, endedDelta, enqueueWithdrawn } from "@/lib/events/bulk/change-events";
import { ignoreChunk, releaseChunk } from "@/lib/events/bulk/ignore-events";
import { appendSubjects } from "@/lib/guard/audit/audit.write";
import { confirmChunk } from "@/lib/intake/confirm-events";
import { type ReadKeeping, readByHand, readRemovalChunk, removeChunk } from "@/lib/keep/removal/remove-events";
import { readExpiring } from "@/lib/keep/retention/expire-events";
import type { Deps } from "@/lib/lane/deps";
import { type ArchiveDeps, archiveOf } from "@/lib/platform/archive/archive-store";
import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { MendingDeps } from "@/lib/repair/mends/examine-mend";
import { workMend, workUndoMend } from "@/lib/repair/mends/work-mend";
import { type Candidate, countUpTo, readCandidates } from "@/lib/selection/candidates.read";
import {
  advanceBulkOperation,
  type BulkOperationRow,
  countBulkOperation,
  endBulkOperation,
  isBulkRunning,
  noteFault,
  readBulkOperationRow,
  startBulkOperation,
} from "@/lib/selection/operations/bulk-operations.write";
import { type Walk, walkSelection } from "@/lib/selection/walk-selection";
import { type BulkKind, isRemoval, type Removal } from "@/lib/states/bulk-operation.pure";

/** Events of one transaction: it holds its row locks for less than a second, and a cancel waits no longer than that. */
export const BULK_CHUNK = 2_000;

/** Time limit for counting the selection; after it the planner's estimate is used. */
const COUNT_MS_MAX = 5_000;
const COUNT_MAX = 100_000_000;

const CHANGES: Record<Exclude<BulkKind, "mend" | "undo-mend" | Removal>, ChangeChunk> = {
  ignore: ignoreChunk,
  release: releaseChunk,
  confirm: confirmChunk,
};

const KEEPING: Record<Removal, ReadKeeping> = { remove: readByHand, expire: readExpiring };

export type WorkingDeps = Deps & MendingDeps & ArchiveDeps;

/** Works a bulk operation, see `walkSelection`. Resolves when it is done, cancelled, taken over, or `signal` aborts. */
export async function workBulkOperation(deps: WorkingDeps, id: string, signal: AbortSignal): Promise<void> {
  const operation = await readBulkOperationRow(deps.db, id);
  if (operation?.state !== "RUNNING" || operation.awaitsApproval) return;
  const { kind } = operation;
  if (kind === "mend" || kind === "undo-mend") {
    await startBulkOperation(deps.db, id, null);
    await (kind === "mend" ? workMend : workUndoMend)(deps, operation, signal);
    return;
  }
  if (operation.cursor === null) await startBulkOperation(deps.db, id, await countSelected(deps, operation));
  // Asked for with each chunk: the fault of a worker without an archive is said as any other.
  const changeChunk: ChangeChunk = (tx, candidates, context) =>
    (isRemoval(kind) ? removeChunk({ db: deps.db, archive: archiveOf(deps) }, id, KEEPING[kind]) : CHANGES[kind])(
      tx,
      candidates,
      context,
    );
  const facts = { actor: operation.createdBy, options: operation.options };
  const change = async (tx: Tx, candidates: readonly Candidate[]) => {
    const done = await changeChunk(tx, candidates, { ...facts, nowMs: deps.clock.wallMs() });
    await appendSubjects(
      tx,
      operation.auditId,
      done.changed.map((event) => event.id),
    );
    return done;
  };
  const walk: Walk<Candidate> = {
    selection: operation.selection,
    read: isRemoval(kind) ? (tx, page) => readRemovalChunk(tx, page, KEEPING[kind]) : readCandidates,
    cutoff: operation.cutoff,
    cursor: operation.cursor,
    chunkMax: BULK_CHUNK,
    advanceLast: isRemoval(kind),
    runs: () => isBulkRunning(deps.db, id),
    advance: (tx, from, to) => advanceBulkOperation(tx, id, from, to),
    work: async (tx, candidates) => {
      const { changed, refused, inFlight, recorded = 0, withdrawn = [] } = await change(tx, candidates);
      const left = recorded > 0 ? { ...refused, "confirmed-when-sent": recorded } : refused;
      await countBulkOperation(tx, id, changed.length, left);
      if (inFlight.length === 0 && withdrawn.length === 0) return undefined;
      return async () => {
        await enqueueWithdrawn(deps, withdrawn);
        let late: typeof withdrawn = [];
        await changeEnded(deps, inFlight, async (endTx, ended) => {
          // The operation ends with its last chunk, which another worker may have worked.
          if (!(await isBulkRunning(endTx, id, { lock: true }))) return;
          const changedLate = await change(endTx, ended);
          late = changedLate.withdrawn ?? [];
          const delta = endedDelta(changedLate, ended.length);
          await countBulkOperation(endTx, id, delta.changed, delta.refused);
        });
        await enqueueWithdrawn(deps, late);
      };
    },
    refuse: async (tx, candidate, error) => {
      deps.log.error({ operationId: id, id: candidate.id, err: error }, "the store refuses to change an event");
      await countBulkOperation(tx, id, 0, { "store-refused": 1 });
    },
    complete: async (tx) => {
      await endBulkOperation(tx, id, "finish");
    },
  };
  try {
    await walkSelection(deps, walk, signal);
  } catch (error) {
    // Busy: another worker works the same chunk, or another change holds these events.
    if (error instanceof DomainError && error.code !== "events-busy") await sayFault(deps, id, error);
    throw error;
  }
}

/** What keeps the operation from its next chunk stands on its page; where the store itself is away, nothing can. */
async function sayFault({ db, log }: Deps, operationId: string, fault: DomainError): Promise<void> {
  try {
    await noteFault(db, operationId, fault.message);
  } catch (error) {
    log.warn({ operationId, err: error }, "the fault of an operation could not be noted");
  }
}

/** null = the time limit was over. */
async function countSelected({ db }: Deps, { selection: { asOfMs, ...selection }, cutoff }: BulkOperationRow) {
  const page = { selection, asOfMs, cutoff };
  try {
    return await db.transaction((tx) => countUpTo(tx, page, COUNT_MAX), {
      statementTimeoutMs: COUNT_MS_MAX,
      readOnly: true,
    });
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}
