import { inTransaction } from "@/lib/platform/database/retrying";
import type { Deps } from "@/lib/platform/deps";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { reconcile } from "@/lib/redrive/life/reconcile";
import type { Claims } from "@/lib/redrive/run/claims";
import { freeForgottenClaims, freeLostClaims } from "@/lib/redrive/run/store/free-claims.write";

/** A claim that is younger may have its answer on the way. */
const RECENT_MS = 2_000;

export type LostWork = {
  /** A heartbeat of this worker was written. @param storeMs when, on the store's clock */
  seen(storeMs: number): void;
  /** Gives back the claims that are lost by now. Rejects when the store or the queue is away; then it is tried again. */
  recover(): Promise<void>;
};

/** Gives back the claims of a lost worker, of a lost answer, or of a store that was away. All times are the store's. */
export function createLostWork(deps: Deps & { workerId: string; claims: Claims; paces: Paces }): LostWork {
  const { workerId, claims } = deps;
  const { lostMs, heartbeatGapMs, claimLeaseMs } = deps.paces;
  /** Heartbeats since the store was last away: the first and the last one. */
  let beats: { firstMs: number; lastMs: number } | null = null;
  /** The queue may hold jobs that no worker runs. */
  let ringsAgain = false;

  async function recover(): Promise<void> {
    if (beats !== null && beats.lastMs - beats.firstMs >= lostMs) {
      const items = await inTransaction(deps.db, (tx) => freeLostClaims(tx, workerId, lostMs));
      if (items !== null) deps.log.warn({ items }, "a worker is lost, others take over its items");
      ringsAgain ||= items !== null;
    }
    if (claims.inDoubt(RECENT_MS)) {
      claims.settle();
      const bounds = { leaseMs: claimLeaseMs, recentMs: RECENT_MS };
      const items = await freeForgottenClaims(deps.db, workerId, claims.list(), bounds).catch((error: unknown) => {
        claims.doubt();
        throw error;
      });
      if (items > 0) deps.log.warn({ items }, "claims whose answer was lost are given back");
      ringsAgain = true;
    }
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
