import { Breaker, type BreakerChange, type BreakerSnapshot } from "@/lib/retry/breaker/breaker";
import { type Budget, type BudgetSnapshot, createBudget } from "@/lib/retry/budget/budget";
import { Bulkhead, type BulkheadSnapshot } from "@/lib/retry/bulkhead";
import type { Clock } from "@/lib/retry/clock";
import { type Counters, type Rates, ratesOf, zeroCounters } from "@/lib/retry/counters";
import { createHealer, type Healer } from "@/lib/retry/healing/healer";
import type { HealingStep } from "@/lib/retry/healing/healing";
import type { Policy } from "@/lib/retry/policy";
import { type LatencyHistory, type LatencySnapshot, latencyHistory } from "@/lib/retry/timeout/latency";

/**
 * What all operations on one target share within a process. Owned by the composition root, passed to every `execute`
 * on that target.
 */
export type TargetState = {
  /** null = the policy has none. */
  readonly breaker: Breaker | null;
  readonly budget: Budget;
  readonly bulkhead: Bulkhead | null;
  readonly latency: LatencyHistory;
  readonly healer: Healer | null;
  readonly counters: Counters;
  /** Takes the next self-healing step if one is due; the caller audits what is answered. Call it every few seconds. */
  heal(): HealingStep | null;
  /** An operator's order to the breaker; `auto` ends one. false when the policy has no breaker. */
  force(order: "open" | "closed" | "auto"): boolean;
  /** Forgets window, latency and healing steps, and closes the breaker: an operator says the target is well. */
  reset(): void;
  snapshot(): TargetSnapshot;
};

/** The live state for display. null = the policy has no such part. */
export type TargetSnapshot = {
  breaker: BreakerSnapshot | null;
  budget: BudgetSnapshot;
  bulkhead: BulkheadSnapshot | null;
  latency: LatencySnapshot;
  healing: { steps: number; backoffFactor: number; rateFactor: number } | null;
  counters: Counters & Rates;
};

export type TargetEvents = { onBreakerChange?: (change: BreakerChange) => void };

export function createTargetState(policy: Policy, clock: Clock, events: TargetEvents = {}): TargetState {
  const breaker = policy.breaker ? new Breaker(policy.breaker, clock.nowMs(), events.onBreakerChange) : null;
  const budget = createBudget(policy.budget);
  const bulkhead = policy.bulkhead ? new Bulkhead(policy.bulkhead) : null;
  const latency = latencyHistory();
  const healer = policy.healing ? createHealer(policy.healing) : null;
  const counters = zeroCounters();
  return {
    breaker,
    budget,
    bulkhead,
    latency,
    healer,
    counters,
    heal: () => healer?.step(clock.nowMs()) ?? null,
    force(order) {
      breaker?.force(order, clock.nowMs());
      return breaker !== null;
    },
    reset() {
      breaker?.reset(clock.nowMs());
      latency.clear();
      healer?.reset();
    },
    snapshot: () => ({
      breaker: breaker?.snapshot(clock.nowMs()) ?? null,
      budget: budget.snapshot(clock.nowMs()),
      bulkhead: bulkhead?.snapshot() ?? null,
      latency: latency.snapshot(),
      healing: healer?.snapshot() ?? null,
      counters: { ...counters, ...ratesOf(counters) },
    }),
  };
}
