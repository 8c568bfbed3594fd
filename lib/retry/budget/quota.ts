import type { Budget, CostClass } from "@/lib/retry/budget/budget";
import { quotaPool } from "@/lib/retry/budget/pools";

/**
 * A bucket that only success refills: each retry takes its cost, a success returns what its own retry took, or
 * `reward` when it needed none. Runs dry in a full outage and stays dry. Source: AWS SDK standard retry mode, 2.1.
 */
export type QuotaBudget = {
  kind: "quota";
  capacity: number;
  cost: Record<CostClass, number>;
  reward: number;
};

export function quotaBudget(policy: QuotaBudget, initial = policy.capacity): Budget & { readonly left: number } {
  const pool = quotaPool(policy.capacity, initial);
  return {
    begin() {},
    withdraw: (cost) => (pool.take(policy.cost[cost]) ? policy.cost[cost] : null),
    settle(ok, withdrawn) {
      if (ok) pool.give(withdrawn > 0 ? withdrawn : policy.reward);
    },
    end() {},
    snapshot: () => ({ kind: "quota", available: Math.floor(pool.left / policy.cost.transient) }),
    get left() {
      return pool.left;
    },
  };
}
