import type { Deps } from "@/lib/lane/deps";
import { inTransaction } from "@/lib/platform/database/retrying";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { reconcile } from "@/lib/redrive/life/reconcile";
import type { Slices } from "@/lib/redrive/run/slices";
import { freeLostSlices } from "@/lib/redrive/run/store/slice-owners.write";

export type LostWork = {
  /** A heartbeat of this worker was written. @param storeMs when, on the store's clock */
  seen(storeMs: number): void;
  /** Frees the slices that are lost by now. Rejects when the store or the queue is away; then it is tried again. */
  recover(): Promise<void>;
};

/** Frees the slices of a lost worker, of a lost answer, or of a store that was away. All times are the store's. */
export function createLostWork(deps: Deps & { workerId: string; slices: Slices; paces: Paces }): LostWork {
  const { db, log, workerId } = deps;
  const { lostMs, heartbeatGapMs } = deps.paces;
  /** Heartbeats since the store was last away: the first and the last one. */
  let beats: { firstMs: number; lastMs: number } | null = null;
  /** The queue may hold jobs that no worker runs. */
  let ringsAgain = false;

  async function recover(): Promise<void> {
    if (beats !== null && beats.lastMs - beats.firstMs >= lostMs) {
      const slices = await inTransaction(db, (tx) => freeLostSlices(tx, workerId, lostMs));
      if (slices !== null) log.warn({ slices }, "a worker is lost, others take over its slices");
      ringsAgain ||= slices !== null;
    }
    const forgotten = await deps.slices.settle();
    if (forgotten > 0) log.warn({ slices: forgotten }, "slices whose answer was lost are free again");
    ringsAgain ||= forgotten > 0;
    if (!ringsAgain) return;
    await reconcile(deps, { lost: true });
    ringsAgain = false;
  }

  return {
    seen: (storeMs) => {
      const back = beats === null || storeMs < beats.lastMs || storeMs - beats.lastMs > heartbeatGapMs;
      beats = { firstMs: back ? storeMs : beats!.firstMs, lastMs: storeMs };
      ringsAgain ||= back;
    },
    recover,
  };
}
