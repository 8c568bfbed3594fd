import type { Budget, CostClass } from "@/lib/retry/budget/budget";
import { EPSILON, leakyPool } from "@/lib/retry/budget/pools";

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
