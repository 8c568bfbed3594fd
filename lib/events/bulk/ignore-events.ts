import { type BulkRequest, type ChangeChunk, changeEvents, refusals } from "@/lib/events/bulk/change-events";
import { ignoreEvents as moveToIgnored, releaseEvents as moveToPending } from "@/lib/events/bulk/ignore-events.write";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { countItems } from "@/lib/redrive/life/redrive.write";
import { settleRedrive } from "@/lib/redrive/life/settle-redrive";
import { refuseQueuedItems } from "@/lib/redrive/life/withdraw-items.write";
import { NO_DELTA } from "@/lib/redrive/run/store/finish-items.write";
import { EVENT_MOVES } from "@/lib/states/event-state.pure";

/**
 * Marks events IGNORED: all that are PENDING, and those that are QUEUED but not being sent, since a person's ignore
 * takes them out of their redrive. See `changeEvents`.
 */
export function ignoreEvents(deps: Deps, request: BulkRequest, viewer: Viewer): Promise<BulkAnswer> {
  return changeEvents(deps, { ...request, kind: "ignore", change: ignoreChunk }, viewer);
}

/**
 * Releases IGNORED events: they become PENDING again, and redrive limit and cooldown start anew unless `keepLimits`.
 * See `changeEvents`.
 */
export function releaseEvents(
  deps: Deps,
  { keepLimits, ...request }: BulkRequest & { keepLimits?: boolean },
  viewer: Viewer,
): Promise<BulkAnswer> {
  const options = keepLimits ? { keepLimits } : {};
  return changeEvents(deps, { ...request, options, kind: "release", change: releaseChunk }, viewer);
}

export const ignoreChunk: ChangeChunk = async (tx, candidates, { actor, nowMs }) => {
  const queued = candidates.filter((event) => event.status === "QUEUED").map((event) => event.id);
  const withdrawn = await refuseQueuedItems(tx, queued, "ignored");
  const free = candidates
    .filter((event) => event.status === "PENDING")
    .map(({ id }) => ({ id, attempts: 0, lost: false }));
  const changed = await moveToIgnored(tx, [...free, ...withdrawn], actor);
  await countWithdrawn(tx, withdrawn, nowMs);
  const ids = new Set(changed.map((event) => event.id));
  const refused = refusals(candidates, ids, (event) => {
    if (event.status === "QUEUED") return "in-flight";
    return event.status === "IGNORED" ? "already-ignored" : "not-pending";
  });
  return { changed, refused, inFlight: queued.filter((id) => !ids.has(id)), withdrawn };
};

export const releaseChunk: ChangeChunk = async (tx, candidates, { actor, options: { keepLimits = false } }) => {
  const ignored = candidates.filter((event) => event.status === "IGNORED").map((event) => event.id);
  const moved = await moveToPending(tx, ignored, { actor, keepLimits });
  const changed = moved.map((id) => ({ id, from: EVENT_MOVES.release.from[0] }));
  return { changed, refused: refusals(candidates, new Set(moved), () => "not-ignored"), inFlight: [] };
};

/** The redrives that lost an item count it as refused, and are DONE when it was their last open item. */
async function countWithdrawn(
  tx: Tx,
  withdrawn: readonly { id: string; redriveId: string }[],
  nowMs: number,
): Promise<void> {
  const byRedrive = Map.groupBy(withdrawn, (item) => item.redriveId);
  for (const [redriveId, items] of [...byRedrive].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const redrive = await countItems(tx, redriveId, {
      ...NO_DELTA,
      refused: items.length,
      refusedByReason: { ignored: items.length },
    });
    if (redrive) await settleRedrive(tx, redrive, nowMs);
  }
}
