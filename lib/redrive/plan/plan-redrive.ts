import type { Deps } from "@/lib/lane/deps";
import { lockRedrive, moveRedrive, readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { enqueueStarted, startOrFinish } from "@/lib/redrive/life/start-redrive";
import { freezeChunk } from "@/lib/redrive/plan/freeze-chunk";
import { advancePlan } from "@/lib/redrive/plan/freeze-events.write";
import { readCandidateIds } from "@/lib/selection/candidates.read";
import { type Walk, walkSelection } from "@/lib/selection/walk-selection";

/** Events of one planning transaction: it holds its row locks for about 0.3 s, with its wait for the one before it. */
const PLAN_CHUNK = 4_000;

/** Freezes a large redrive, see `walkSelection`. Resolves when the plan is complete, cancelled or taken over. */
export async function planRedrive(
  deps: Deps,
  redriveId: string,
  signal: AbortSignal,
  chunkMax = PLAN_CHUNK,
): Promise<void> {
  const redrive = await readRedriveRow(deps.db, redriveId);
  if (redrive?.state !== "PLANNING") return;
  const { asOfMs, ...selection } = redrive.selection;
  const walk: Walk<{ id: string }> = {
    selection: redrive.selection,
    read: readCandidateIds,
    cutoff: redrive.cutoff,
    cursor: redrive.planCursor,
    chunkMax,
    runs: async () => (await readRedriveRow(deps.db, redriveId))?.state === "PLANNING",
    // Two chunks could take the same earlier version along.
    overlaps: redrive.earlier !== "include",
    advance: (tx, from, to) => advancePlan(tx, redriveId, from, to),
    work: async (tx, events, nowMs, turn) => {
      const target = { ...redrive, selection, asOfMs, actor: redrive.createdBy };
      const ids = events.map(({ id }) => id);
      await freezeChunk(tx, target, ids, nowMs, turn);
      return undefined;
    },
    complete: async (tx, nowMs) => {
      const locked = await lockRedrive(tx, redriveId);
      if (locked?.state !== "PLANNING") return;
      await moveRedrive(tx, redriveId, "planned");
      await startOrFinish(tx, redriveId, nowMs);
    },
  };
  if (await walkSelection(deps, walk, signal)) await enqueueStarted(deps, redriveId);
}
