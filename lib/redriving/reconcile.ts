import { type LaneJob, laneJobKey } from "@/lib/contract/jobs";
import type { LaneName } from "@/lib/lane/port";
import { cancelItems } from "@/lib/redriving/cancel-items";
import type { Deps } from "@/lib/redriving/deps";
import { settleRedrive } from "@/lib/redriving/settle-redrive";
import { idleSlices, unfinishedRedrives } from "@/lib/store/read/open-slices";
import { runningBulkOperations } from "@/lib/store/write/bulk-operations";
import { lockRedrive } from "@/lib/store/write/redrive";

/** Cancelled items given back in one round. */
const CANCEL_CHUNKS = 20;

export type Reconciled = { rung: number; cancelled: number; settled: number };

/**
 * Rebuilds the queue from Postgres: rings every slice with open items that nobody works on and the queue does not hold,
 * plans and bulk operations that were left, and gives back what cancelled redrives still hold. Idempotent; run every few seconds by every
 * worker. Rejects when the store or the queue is away.
 *
 * `lost`: a worker may be gone, or the queue may have missed an end. Then only what the queue can start now counts as
 * held: a slice is rung that a lost worker has begun, or has delayed by a clock of its own.
 */
export async function reconcile(deps: Deps, { lost = false } = {}): Promise<Reconciled> {
  const redrives = await unfinishedRedrives(deps.db);
  let cancelled = 0;
  let settled = 0;
  for (const redrive of redrives) {
    if (redrive.state === "CANCELLED") cancelled += await cancelItems(deps, redrive.id, CANCEL_CHUNKS);
    else if (redrive.open === 0 && (await settle(deps, redrive.id))) settled++;
  }
  const wanted = await wantedSlices(deps, redrives);
  let rung = 0;
  for (const lane of ["main", "slow"] as const) rung += await ringMissing(deps, lane, wanted[lane], lost);
  return { rung, cancelled, settled };
}

async function settle(deps: Deps, redriveId: string): Promise<boolean> {
  return deps.db.transaction(async (tx) => {
    const redrive = await lockRedrive(tx, redriveId);
    return redrive !== null && (await settleRedrive(tx, redrive, deps.clock.wallMs()));
  });
}

async function wantedSlices(
  deps: Deps,
  redrives: Awaited<ReturnType<typeof unfinishedRedrives>>,
): Promise<Record<LaneName, LaneJob[]>> {
  const wanted: Record<LaneName, LaneJob[]> = { main: [], slow: [] };
  for (const redrive of redrives) {
    if (redrive.state === "PLANNING") wanted[redrive.lane].push({ kind: "plan", redriveId: redrive.id });
  }
  for (const id of await runningBulkOperations(deps.db)) wanted.main.push({ kind: "bulk", operationId: id });
  const canaries = new Set<string>();
  for (const { redriveId, lane, canary, slice } of await idleSlices(deps.db)) {
    if (!canary) wanted[lane].push({ kind: "slice", redriveId, slice });
    else if (!canaries.has(redriveId)) {
      canaries.add(redriveId);
      wanted[lane].push({ kind: "canary", redriveId });
    }
  }
  return wanted;
}

async function ringMissing(deps: Deps, lane: LaneName, wanted: readonly LaneJob[], lost: boolean): Promise<number> {
  if (wanted.length === 0) return 0;
  const held = await deps.lane.jobs(lane, lost ? ["waiting"] : undefined);
  // A queue that cannot answer cannot take a ring either: the next round tries again.
  if (held === null) return 0;
  const known = new Set(held.map(laneJobKey));
  const missing = wanted.filter((job) => !known.has(laneJobKey(job)));
  if (missing.length > 0) await deps.lane.ring(lane, missing);
  return missing.length;
}
