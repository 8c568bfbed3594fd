import type { Budget } from "@/lib/retry/budget/budget";
import { mostAt } from "@/lib/retry/window/share";

/**
 * Bounds retries under way rather than retries per time: at most max(floor(ratio * operations under way), retriesMin).
 * Sources: Envoy's retry_budget (percent of active requests, min_retry_concurrency); failsafe-go's budget.
 */
export type InFlightBudget = { kind: "in-flight"; ratio: number; retriesMin: number };

/** Most retries that may be under way at once, given the operations that are. */
export function inFlightMax(policy: Pick<InFlightBudget, "ratio" | "retriesMin">, operations: number): number {
  return Math.max(mostAt(policy.ratio, operations), policy.retriesMin);
}

export function inFlightBudget(policy: InFlightBudget): Budget {
  let operations = 0;
  let retries = 0;
  return {
    begin() {
      operations++;
    },
    withdraw() {
      if (retries >= inFlightMax(policy, operations)) return null;
      retries++;
      return 1;
    },
    settle(_ok, withdrawn) {
      if (withdrawn > 0) retries--;
    },
    end() {
      operations--;
    },
    snapshot: () => ({ kind: "in-flight", available: Math.max(0, inFlightMax(policy, operations) - retries) }),
  };
}
