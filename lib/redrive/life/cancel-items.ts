import { auditEvents } from "@/lib/guard/audit/audit.write";
import type { Deps } from "@/lib/lane/deps";
import { inTransaction } from "@/lib/platform/database/retrying";
import { confirmOvertaking } from "@/lib/redrive/confirm/confirm";
import { enqueueBehind } from "@/lib/redrive/life/enqueue-jobs";
import { countItems, readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { cancelOpenItems } from "@/lib/redrive/life/withdraw-items.write";
import { NO_DELTA } from "@/lib/redrive/run/store/finish-items.write";
import { EVENT_MOVES } from "@/lib/states/event-state.pure";

/** Items taken back in one transaction. */
const CANCEL_CHUNK = 5_000;

/**
 * Gives back the open items of a CANCELLED redrive, chunk by chunk. Run once by the request for its first chunk and by the
 * worker's reconciler until nothing is left. Returns how many items were cancelled.
 */
export async function cancelItems(
  deps: Pick<Deps, "db" | "clock" | "lane" | "log">,
  redriveId: string,
  chunks: number,
): Promise<number> {
  let cancelled = 0;
  for (let chunk = 0; chunk < chunks; chunk++) {
    const ids = await cancelChunk(deps, redriveId);
    cancelled += ids.length;
    if (ids.length > 0) await enqueueBehind(deps, null, ids);
    await confirmOvertaking(deps, redriveId, ids).catch((error) =>
      deps.log.warn({ redriveId, err: error }, "words of consumers are left to the next redrive"),
    );
    if (ids.length < CANCEL_CHUNK) break;
  }
  return cancelled;
}

async function cancelChunk(deps: Pick<Deps, "db" | "clock" | "lane" | "log">, redriveId: string): Promise<string[]> {
  return inTransaction(deps.db, async (tx) => {
    // Not locked: CANCELLED is final. Slices before their redrive is the order in which a finish locks them.
    const redrive = await readRedriveRow(tx, redriveId);
    if (redrive?.state !== "CANCELLED") return [];
    // A redrive that was cancelled before `cancelledBy` was kept names only the person who asked for it.
    const actor = redrive.cancelledBy ?? redrive.createdBy;
    const ids = await cancelOpenItems(tx, redriveId, CANCEL_CHUNK, actor);
    if (ids.length === 0) return ids;
    await countItems(tx, redriveId, { ...NO_DELTA, cancelled: ids.length });
    await auditEvents(tx, ids, {
      actor,
      action: "event.withdrawn",
      redriveId,
      reason: "the redrive was cancelled",
      before: { status: EVENT_MOVES.cancel.from[0] },
      after: { status: EVENT_MOVES.cancel.to },
      atMs: deps.clock.wallMs(),
    });
    return ids;
  });
}
