import type { Budget, CostClass } from "@/lib/retry/budget/budget";
import { EPSILON, leakyPool, quotaPool } from "@/lib/retry/budget/pools";
import { mostAt } from "@/lib/retry/window/share";

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

/**
 * Over any windowMs: what retries pay <= floor + ratio * deposits of that time and of the tenth of it before, and the
 * retries never exceed the ceiling.
 * Depositing on every request holds the load at 1 + ratio in a full outage; depositing on success only lets it fall
 * to 1. Source: Finagle's RetryBudget; the ceiling and the cost classes are ours.
 */
export type RatioBudget = {
  kind: "ratio";
  /** Earned per deposit, e.g. 0.1. */
  ratio: number;
  windowMs: number;
  /** Retries per second that are always allowed, so that a quiet target can be retried at all. */
  floorPerSecond: number;
  /** Retries per second, over the window, that are never exceeded; null = no ceiling. */
  ceilingPerSecond: number | null;
  deposit: "request" | "success";
  /** What one retry of each class pays. */
  cost: Record<CostClass, number>;
};

export function ratioBudget(policy: RatioBudget): Budget {
  const seconds = policy.windowMs / 1000;
  const earned = leakyPool(policy.windowMs, policy.floorPerSecond * seconds);
  const ceiling =
    policy.ceilingPerSecond === null ? null : leakyPool(policy.windowMs, policy.ceilingPerSecond * seconds);
  return {
    begin(nowMs) {
      if (policy.deposit === "request") earned.put(policy.ratio, nowMs);
    },
    withdraw(cost, nowMs) {
      const amount = policy.cost[cost];
      if (ceiling !== null && ceiling.balance(nowMs) < 1) return null;
      if (!earned.take(amount, nowMs)) return null;
      ceiling?.take(1, nowMs);
      return amount;
    },
    settle(ok, _withdrawn, nowMs) {
      if (ok && policy.deposit === "success") earned.put(policy.ratio, nowMs);
    },
    end() {},
    snapshot(nowMs) {
      const byBalance = Math.floor((earned.balance(nowMs) + EPSILON) / policy.cost.transient);
      const byCeiling = ceiling === null ? Number.POSITIVE_INFINITY : Math.floor(ceiling.balance(nowMs));
      return { kind: "ratio", available: Math.max(0, Math.min(byBalance, byCeiling)) };
    },
  };
}
