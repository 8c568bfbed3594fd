import { auditEvents } from "@/lib/guard/audit/audit.write";
import type { Deps } from "@/lib/lane/deps";
import { endAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { announceConfirmed } from "@/lib/redrive/confirm/announce-confirmed";
import { confirmEvents, findOvertaking } from "@/lib/redrive/confirm/confirm-events.write";
import { countConfirmed } from "@/lib/redrive/confirm/confirm-quiet.write";
import { confirmRedrives } from "@/lib/redrive/pace/canary-and-brake";
import { BULK_EFFECT } from "@/lib/states/bulk-operation.pure";

/** Confirms events by the word of a consumer, with everything that counts it. Returns those that it moved. */
export async function confirmWithin(tx: Tx, ids: readonly string[], { by, nowMs }: { by: string; nowMs: number }) {
  const moved = await confirmEvents(tx, ids);
  const movedIds = moved.map(({ id }) => id);
  const redriveIds = moved.flatMap(({ redriveId }) => redriveId ?? []);
  await countConfirmed(tx, redriveIds);
  await confirmRedrives(tx, redriveIds, nowMs);
  await raiseConfirmed(tx, movedIds);
  await endAggregateFailures(tx, movedIds, true);
  await announceConfirmed(tx, movedIds, { by, nowMs });
  return moved;
}

/**
 * Confirms those of the events that left the redrive whose consumer had said before that it processed them: a fast
 * consumer overtakes the commit, and one whose answer came too late has processed what counts as failed. Without this a
 * delivered event would wait for the quiet window, and the step of a canary with it; a failed one would stay parked until
 * another redrive finds the word. So they stay when the process dies before it.
 */
export async function confirmOvertaking(
  deps: Pick<Deps, "db" | "clock">,
  redriveId: string,
  ended: readonly string[],
): Promise<void> {
  if (ended.length === 0) return;
  const found = await findOvertaking(deps.db, redriveId, ended);
  for (const [consumer, events] of Map.groupBy(found, (event) => event.consumer)) {
    await inTransaction(deps.db, async (tx) => {
      const nowMs = deps.clock.wallMs();
      const ids = events.map(({ id }) => id);
      const moved = await confirmWithin(tx, ids, { by: consumer, nowMs });
      for (const [status, of] of Map.groupBy(moved, ({ from }) => from)) {
        const changed = of.map(({ id }) => id);
        await auditEvents(tx, changed, {
          actor: "worker",
          action: BULK_EFFECT.confirm.action,
          reason: `processed by ${consumer}`,
          before: { status, confirmed: false },
          after: BULK_EFFECT.confirm.after,
          atMs: nowMs,
        });
      }
    });
  }
}
