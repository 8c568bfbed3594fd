import {
  type InFlightBudget,
  inFlightBudget,
  type QuotaBudget,
  quotaBudget,
  type RatioBudget,
  ratioBudget,
} from "@/lib/retry/budget/strategies";

/** How many retries a target may cost beyond its original calls. Out of budget means fail fast, never wait. */
export type BudgetPolicy = { kind: "unlimited" } | RatioBudget | QuotaBudget | InFlightBudget;

/** What a retry is paid for: an overloaded target and a faulty one may cost differently. */
export type CostClass = "transient" | "throttled";

/** `available` is in retries of class transient, Infinity when unlimited. */
export type BudgetSnapshot = { kind: BudgetPolicy["kind"]; available: number };

/** Every time is monotonic milliseconds. Amounts are in the strategy's own unit. */
export type Budget = {
  begin(nowMs: number): void;
  /** Pays for one retry. @returns the amount taken, or null when the budget does not allow it. */
  withdraw(cost: CostClass, nowMs: number): number | null;
  /** An attempt is over. @param withdrawn what its permission cost, 0 for the first attempt */
  settle(ok: boolean, withdrawn: number, nowMs: number): void;
  end(): void;
  snapshot(nowMs: number): BudgetSnapshot;
};

export function createBudget(policy: BudgetPolicy): Budget {
  switch (policy.kind) {
    case "unlimited":
      return UNLIMITED;
    case "ratio":
      return ratioBudget(policy);
    case "quota":
      return quotaBudget(policy);
    case "in-flight":
      return inFlightBudget(policy);
  }
}

const UNLIMITED: Budget = {
  begin() {},
  withdraw: () => 0,
  settle() {},
  end() {},
  snapshot: () => ({ kind: "unlimited", available: Number.POSITIVE_INFINITY }),
};
