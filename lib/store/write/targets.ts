import type { Fallback } from "@/lib/contract/targets";
import type { Tx } from "@/lib/store/db";

export type TargetSettings = {
  ratePerSecond: number | null;
  burst: number | null;
  bulkhead: number;
  policyName: string;
  retryable: boolean;
  breakerForce: "open" | "closed" | null;
  warmUpMs: number;
  noBursts: boolean;
  fallback: Fallback | null;
  /** Asks the workers to forget the breaker's and the latency's history. */
  reset: boolean;
};

export async function updateTarget(tx: Tx, id: string, target: TargetSettings): Promise<void> {
  await tx.run(
    `update targets
        set rate_per_second = $2, burst = $3, bulkhead = $4, policy_name = $5, retryable = $6, breaker_force = $7,
            reset_at = case when $8 then now() else reset_at end, warm_up_ms = $9, no_bursts = $10, fallback = $11,
            updated_at = now()
      where id = $1`,
    [
      id,
      target.ratePerSecond,
      target.burst,
      target.bulkhead,
      target.policyName,
      target.retryable,
      target.breakerForce,
      target.reset,
      target.warmUpMs,
      target.noBursts,
      target.fallback === null ? null : JSON.stringify(target.fallback),
    ],
  );
}
