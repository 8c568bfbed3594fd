import { retrying } from "@/lib/platform/database/retrying";
import type { Deps } from "@/lib/platform/deps";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { canaryAllowance } from "@/lib/redrive/pace/canary-allowance.read";
import {
  type ClaimedItem,
  type ClaimRequest,
  claimItems,
  lockCanary,
  renewClaims,
} from "@/lib/redrive/run/store/claim-items.write";
import { releaseClaims } from "@/lib/redrive/run/store/free-claims.write";

/** While the store is away, a claim that cannot be worked is given back this often. */
const STORE_RETRY_MS = 500;

/** The claims that this process works on. */
export type Claims = {
  /** Claims items of a slice. `canary`: of all slices, and no more than the canary's step still lets go. */
  take(request: Omit<ClaimRequest, "leaseMs" | "workerId">, options: { canary: boolean }): Promise<ClaimedItem[]>;
  /** Renews a claim while `work` runs. Gives it back and rejects when `work` rejects. */
  holdWhile<T>(claimed: readonly ClaimedItem[], work: () => Promise<T>): Promise<T>;
  /**
   * Was there a claim or a release without an answer, and none in the last `forMs`? The store may hold a claim of this worker
   * that it does not work on.
   */
  inDoubt(forMs: number): boolean;
  doubt(): void;
  settle(): void;
  list(): ClaimedItem[];
};

export function createClaims(
  deps: Pick<Deps, "db" | "clock" | "log">,
  { workerId, stopping, leaseMs }: { workerId: string; stopping: AbortSignal; leaseMs: Paces["claimLeaseMs"] },
): Claims {
  const held = new Set<ClaimedItem>();
  let doubtMs: number | null = null;
  const doubt = () => {
    doubtMs = deps.clock.nowMs();
  };

  /** While the store is away it tries again, until the claim ends by itself. */
  async function giveBack(claimed: readonly ClaimedItem[]): Promise<void> {
    const patience = { clock: deps.clock, forMs: leaseMs, everyMs: STORE_RETRY_MS, signal: stopping };
    try {
      await retrying(() => releaseClaims(deps.db, claimed), { patience, pause: deps.db.pause });
    } catch (error) {
      const { redriveId } = claimed[0]!;
      deps.log.warn({ redriveId, err: error }, "claims not released, they end with their lease");
      doubt();
    }
  }

  return {
    take: async (asked, { canary }) => {
      const request = { ...asked, leaseMs, workerId };
      try {
        const claimed = canary ? await claimStep(deps.db, request) : await claimItems(deps.db, request);
        for (const item of claimed) held.add(item);
        return claimed;
      } catch (error) {
        doubt();
        throw error;
      }
    },
    holdWhile: async (claimed, work) => {
      const stopRenewing = renewRegularly(deps, claimed, leaseMs);
      try {
        return await work();
      } catch (error) {
        await giveBack(claimed);
        throw error;
      } finally {
        stopRenewing();
        for (const item of claimed) held.delete(item);
      }
    },
    doubt,
    inDoubt: (forMs) => doubtMs !== null && deps.clock.nowMs() - doubtMs > forMs,
    settle: () => {
      doubtMs = null;
    },
    list: () => [...held],
  };
}

/** Of two canary jobs that read the allowance before either claims, each would take all of it: one claims at a time. */
function claimStep(db: Deps["db"], request: ClaimRequest): Promise<ClaimedItem[]> {
  return db.transaction(async (tx) => {
    await lockCanary(tx, request.redriveId);
    const allowance = await canaryAllowance(tx, request.redriveId);
    const limit = Math.min(request.limit, allowance ?? 0);
    return limit === 0 ? [] : claimItems(tx, { ...request, limit });
  });
}

/** A renewal that fails is tried again: the fence, not the lease, is the guard. Returns how to stop. */
function renewRegularly(
  { db, clock, log }: Pick<Deps, "db" | "clock" | "log">,
  claimed: readonly ClaimedItem[],
  leaseMs: number,
): () => void {
  let cancel = () => {};
  let stopped = false;
  const arm = () => {
    cancel = clock.timer(leaseMs / 3, () => {
      renewClaims(db, claimed, leaseMs)
        .catch((error) => log.warn({ redriveId: claimed[0]?.redriveId, err: error }, "claim not renewed"))
        .finally(() => {
          if (!stopped) arm();
        });
    });
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}
