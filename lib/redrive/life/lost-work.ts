import type { Deps } from "@/lib/platform/deps";
import { reconcile } from "@/lib/redrive/life/reconcile";
import { CLAIM_LEASE_MS, type Claims } from "@/lib/redrive/run/claims";
import { freeForgottenClaims, freeLostClaims } from "@/lib/redrive/run/store/free-claims.write";

/** A worker writes a heartbeat this often. */
export const HEARTBEAT_MS = 2_000;

/** A worker that has missed two heartbeats is lost: its claims are given to others. A shorter time doubles its sends. */
const LOST_MS = 6_000;

/** After a longer pause between its own heartbeats a worker does not know whether others are lost or the store was away. */
const GAP_MS = 5_000;

/** A claim that is younger may have its answer on the way. */
const RECENT_MS = 2_000;

export type LostWork = {
  /** A heartbeat of this worker was written. @param storeMs when, on the store's clock */
  seen(storeMs: number): void;
  /** Gives back the claims that are lost by now. Rejects when the store or the queue is away; then it is tried again. */
  recover(): Promise<void>;
};

/** Gives back the claims of a lost worker, of a lost answer, or of a store that was away. All times are the store's. */
export function createLostWork(deps: Deps & { workerId: string; claims: Claims }): LostWork {
  const { workerId, claims } = deps;
  /** Heartbeats since the store was last away: the first and the last one. */
  let beats: { firstMs: number; lastMs: number } | null = null;
  /** The queue may hold jobs that no worker runs. */
  let ringsAgain = false;

  async function recover(): Promise<void> {
    if (beats !== null && beats.lastMs - beats.firstMs >= LOST_MS) {
      const items = await deps.db.transaction((tx) => freeLostClaims(tx, workerId, LOST_MS));
      if (items !== null) deps.log.warn({ items }, "a worker is lost, others take over its items");
      ringsAgain ||= items !== null;
    }
    if (claims.inDoubt(RECENT_MS)) {
      claims.settle();
      const bounds = { leaseMs: CLAIM_LEASE_MS, recentMs: RECENT_MS };
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
      const back = beats === null || storeMs < beats.lastMs || storeMs - beats.lastMs > GAP_MS;
      beats = { firstMs: back ? storeMs : beats!.firstMs, lastMs: storeMs };
      ringsAgain ||= back;
    },
    recover,
  };
}
