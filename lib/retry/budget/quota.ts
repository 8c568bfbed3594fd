import type { Budget, CostClass } from "@/lib/retry/budget/budget";

/**
 * A bucket that only success refills: each retry takes its cost, a success returns what its last retry took, or
 * `reward` when it needed none. Runs dry in a full outage and stays dry. Source: AWS SDK standard retry mode, 2.1.
 */
export type QuotaBudget = {
  kind: "quota";
  capacity: number;
  cost: Record<CostClass, number>;
  reward: number;
};

export function quotaBudget(policy: QuotaBudget, initial = policy.capacity): Budget {
  let left = initial;
  return {
    begin() {},
    withdraw(cost) {
      const amount = policy.cost[cost];
      if (left < amount) return null;
      left -= amount;
      return amount;
    },
    settle(ok, withdrawn) {
      if (ok) left = Math.min(policy.capacity, left + (withdrawn > 0 ? withdrawn : policy.reward));
    },
    end() {},
    snapshot: () => ({ kind: "quota", available: Math.floor(left / policy.cost.transient) }),
  };
}
