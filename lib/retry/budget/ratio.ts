import type { Budget, CostClass } from "@/lib/retry/budget/budget";
import { rollingSums } from "@/lib/retry/window/rolling-sums";

/**
 * Over a sliding window: retries paid <= floor + ratio * deposits, and never above the ceiling.
 * Depositing on every request holds the load at 1 + ratio in a full outage; depositing on success only lets it fall
 * to 1. Source: Finagle's RetryBudget (windowed deposits, reserve); ceiling and cost classes are ours.
 */
export type RatioBudget = {
  kind: "ratio";
  /** Retries earned per deposit, e.g. 0.1. */
  ratio: number;
  windowMs: number;
  /** Retries per second that are always allowed, so that a quiet target can be retried at all. */
  floorPerSecond: number;
  /** Retries per second that are never exceeded; null = no ceiling. */
  ceilingPerSecond: number | null;
  deposit: "request" | "success";
  /** What one retry of each class pays. */
  cost: Record<CostClass, number>;
};

const DEPOSITS = 0;
const PAID = 1;
const RETRIES = 2;

/** Ten slots a window: a debit lives between 90 % and 100 % of it. */
const SLOTS = 10;

/** Sums of tenths (10 x 0.1) miss the integer by an ulp; this much may be missing from the balance. */
const EPSILON = 1e-9;

export function ratioBudget(policy: RatioBudget): Budget {
  const sums = rollingSums(3, policy.windowMs, SLOTS);
  const reserve = policy.floorPerSecond * (policy.windowMs / 1000);
  const retriesMax =
    policy.ceilingPerSecond === null ? Number.POSITIVE_INFINITY : policy.ceilingPerSecond * (policy.windowMs / 1000);
  const balance = (nowMs: number) => reserve + policy.ratio * sums.sum(DEPOSITS, nowMs) - sums.sum(PAID, nowMs);
  return {
    begin(nowMs) {
      if (policy.deposit === "request") sums.add(DEPOSITS, 1, nowMs);
    },
    withdraw(cost, nowMs) {
      const amount = policy.cost[cost];
      if (balance(nowMs) + EPSILON < amount || sums.sum(RETRIES, nowMs) + 1 > retriesMax) return null;
      sums.add(PAID, amount, nowMs);
      sums.add(RETRIES, 1, nowMs);
      return amount;
    },
    settle(ok, _withdrawn, nowMs) {
      if (ok && policy.deposit === "success") sums.add(DEPOSITS, 1, nowMs);
    },
    end() {},
    snapshot(nowMs) {
      const byBalance = Math.floor((balance(nowMs) + EPSILON) / policy.cost.transient);
      const byCeiling = Math.floor(retriesMax - sums.sum(RETRIES, nowMs));
      return { kind: "ratio", available: Math.max(0, Math.min(byBalance, byCeiling)) };
    },
  };
}
