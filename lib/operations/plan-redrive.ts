import { openItems } from "@/lib/core/redrive-state";
import type { Deps } from "@/lib/operations/deps";
import { freezeChunk } from "@/lib/operations/freeze-chunk";
import { startOrFinish } from "@/lib/operations/request-redrive";
import { ringRedrive } from "@/lib/redriving/rings";
import { readCandidates } from "@/lib/store/read/candidates";
import { openSlices } from "@/lib/store/read/open-slices";
import { advancePlan } from "@/lib/store/write/freeze-events";
import { lockRedrive, moveRedrive, type RedriveRow, readRedriveRow } from "@/lib/store/write/redrive";

/** Events of one planning transaction: about half a second of row locks, and the memory of a few megabytes. */
export const PLAN_CHUNK = 5_000;
/** Of one statement of a chunk. A connection that falls silent holds the plan this long. */
const CHUNK_STATEMENT_MS_MAX = 30_000;

/**
 * Freezes a large redrive chunk by chunk, newest events first, up to its cutoff. Each chunk is one transaction that
 * moves the cursor by compare-and-set: after a crash the next run goes on where the last commit was, and of two planners
 * one stops. Resolves when the plan is complete, cancelled, taken over, or `signal` aborts.
 */
export async function planRedrive(deps: Deps, redriveId: string, signal: AbortSignal): Promise<void> {
  let cursor = (await readRedriveRow(deps.db, redriveId))?.planCursor ?? null;
  while (!signal.aborted) {
    const redrive = await readRedriveRow(deps.db, redriveId);
    if (redrive?.state !== "PLANNING") return;
    const step = await planChunk(deps, redrive, cursor);
    if (step === "taken") return;
    if (step === "complete") return ringPlanned(deps, redriveId);
    cursor = step;
  }
}

/** One chunk. Returns the new cursor, or that the plan is complete or belongs to another planner. */
async function planChunk(deps: Deps, redrive: RedriveRow, cursor: string | null): Promise<string> {
  const nowMs = deps.clock.wallMs();
  const { asOfMs, ...selection } = redrive.selection;
  return deps.db.transaction(
    async (tx) => {
      const page = { selection, asOfMs, cutoff: redrive.cutoff, after: cursor, limit: PLAN_CHUNK };
      const candidates = await readCandidates(tx, page);
      if (candidates.length === 0) {
        const locked = await lockRedrive(tx, redrive.id);
        if (locked?.state !== "PLANNING") return "taken";
        await moveRedrive(tx, redrive.id, "planned");
        await startOrFinish(tx, locked, openItems(locked), nowMs);
        return "complete";
      }
      const last = candidates.at(-1)!.id;
      if (!(await advancePlan(tx, redrive.id, cursor, last))) return "taken";
      await freezeChunk(tx, { ...redrive, selection, asOfMs, actor: redrive.createdBy }, candidates, nowMs);
      return last;
    },
    { statementTimeoutMs: CHUNK_STATEMENT_MS_MAX },
  );
}

async function ringPlanned(deps: Deps, redriveId: string): Promise<void> {
  const redrive = await readRedriveRow(deps.db, redriveId);
  if (redrive?.state !== "RUNNING") return;
  await ringRedrive(
    deps,
    { id: redrive.id, lane: redrive.lane, canary: redrive.released !== null },
    await openSlices(deps.db, redrive.id),
  );
}
