import { auditRedrive } from "@/lib/guard/audit/audit.write";
import type { Tx } from "@/lib/platform/database/db";
import { moveRedrive, type RedriveRow } from "@/lib/redrive/life/redrive.write";
import { ITEM_ENDS } from "@/lib/states/item-state.pure";
import { nextRedriveState, openItems, REDRIVE_MOVES } from "@/lib/states/redrive-state.pure";

/**
 * Marks a redrive DONE when nothing of it is open any more; inside the transaction that closed its last item, with the
 * redrive's row locked and its counters current.
 */
export async function settleRedrive(tx: Tx, redrive: RedriveRow, nowMs: number): Promise<boolean> {
  if (openItems(redrive) > 0 || nextRedriveState(redrive.state, "finish") === null) return false;
  if (!(await moveRedrive(tx, redrive.id, "finish"))) return false;
  await auditRedrive(tx, redrive.id, {
    actor: "worker",
    action: "redrive.finished",
    before: { state: redrive.state },
    after: {
      state: REDRIVE_MOVES.finish.to,
      ...Object.fromEntries(ITEM_ENDS.map((end) => [end, redrive[end]])),
    },
    atMs: nowMs,
  });
  return true;
}
