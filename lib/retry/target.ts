import { Breaker, type BreakerChange, type BreakerSnapshot } from "@/lib/retry/breaker/breaker";
import { type Budget, type BudgetSnapshot, createBudget } from "@/lib/retry/budget/budget";
import { Bulkhead, type BulkheadPolicy, type BulkheadSnapshot } from "@/lib/retry/bulkhead";
import type { Clock } from "@/lib/retry/clock";
import { type Counters, type Rates, ratesOf, zeroCounters } from "@/lib/retry/counters";
import { createHealer, type Healer } from "@/lib/retry/healing/healer";
import type { HealingStep } from "@/lib/retry/healing/healing";
import type { Policy } from "@/lib/retry/policy";
import { type OverloadGate, type OverloadSnapshot, overloadGate } from "@/lib/retry/rate/overload";
import { type LatencyHistory, type LatencySnapshot, latencyHistory } from "@/lib/retry/timeout/latency";
import { type RollingSums, rollingSums } from "@/lib/retry/window/rolling-sums";

/**
 * The state that all operations on one target share within a process, whichever version of a policy each of them runs
 * under. The composition root makes it and passes it to every `execute` on that target. It lives as long as the process: a
 * restart begins with a closed breaker, a new budget and no latency.
 */
export type TargetState = {
  /** null = the policy has none. */
  readonly breaker: Breaker | null;
  readonly budget: Budget;
  /** null = nothing bounds the calls under way. */
  readonly bulkhead: Bulkhead | null;
  readonly latency: LatencyHistory;
  /** Calls that ended within the last 50 ms, and took no longer. */
  readonly ended: RollingSums;
  /** How long attempts waited for a token and a place before they were sent. */
  readonly waits: LatencyHistory;
  readonly healer: Healer | null;
  /** null = the policy does not reject sends to an overloaded target. */
  readonly overload: OverloadGate | null;
  readonly counters: Counters;
  /** First attempts that wait for their turn: each is called when the breaker opens. */
  readonly waiting: Set<() => void>;
  /**
   * Goes on under another policy. Latency and counters stay, and each of breaker, budget and healing whose part of the
   * policy is the same; a breaker stays open also under another trip. Operations under way keep the budget they began with.
   */
  adopt(policy: SharedPolicy): void;
  /** Takes the next self-healing step if one is due; the caller audits the step. Call it every few seconds. */
  heal(): HealingStep | null;
  /** An operator's order to the breaker; `auto` ends one. false when the policy has no breaker. */
  force(order: "open" | "closed" | "auto"): boolean;
  /** Forgets window, latency and healing steps, and closes the breaker: an operator says the target is well. */
  reset(): void;
  snapshot(): TargetSnapshot;
};

/** The parts of a policy that all operations on a target share. The rest is each operation's own. */
type SharedPolicy = Pick<Policy, "breaker" | "budget" | "healing" | "stopOnOverload">;

/** The live state for display. null = the policy has no such part. */
export type TargetSnapshot = {
  breaker: BreakerSnapshot | null;
  budget: BudgetSnapshot;
  bulkhead: BulkheadSnapshot | null;
  latency: LatencySnapshot;
  waits: LatencySnapshot;
  healing: { steps: number; backoffFactor: number; rateFactor: number } | null;
  overload: OverloadSnapshot | null;
  counters: Counters & Rates;
};

const ENDED_MS = 50;

type TargetOptions = { bulkhead?: BulkheadPolicy; onBreakerChange?: (change: BreakerChange) => void };

export function createTargetState(policy: SharedPolicy, clock: Clock, options: TargetOptions = {}): TargetState {
  let shared = policy;
  const waiting = new Set<() => void>();
  const onBreakerChange = (change: BreakerChange) => {
    options.onBreakerChange?.(change);
    if (change.to === "open" || change.to === "forced-open") for (const wake of [...waiting]) wake();
  };
  const newBreaker = ({ breaker }: SharedPolicy) => breaker && new Breaker(breaker, clock.nowMs(), onBreakerChange);
  const newHealer = ({ healing }: SharedPolicy) => healing && createHealer(healing);
  const newOverload = ({ stopOnOverload }: SharedPolicy) => (stopOnOverload ? overloadGate(stopOnOverload) : null);
  let breaker = newBreaker(policy);
  let budget = createBudget(policy.budget);
  let healer = newHealer(policy);
  let overload = newOverload(policy);
  const bulkhead = options.bulkhead ? new Bulkhead(options.bulkhead) : null;
  const latency = latencyHistory();
  const ended = rollingSums(1, ENDED_MS, 5);
  const waits = latencyHistory();
  const counters = zeroCounters();
  return {
    get breaker() {
      return breaker;
    },
    get budget() {
      return budget;
    },
    get healer() {
      return healer;
    },
    get overload() {
      return overload;
    },
    bulkhead,
    latency,
    ended,
    waits,
    counters,
    waiting,
    adopt(next) {
      if (breaker && next.breaker) breaker.adopt(next.breaker);
      else breaker = newBreaker(next);
      if (!same(next.budget, shared.budget)) budget = createBudget(next.budget);
      if (!same(next.healing, shared.healing)) healer = newHealer(next);
      if (!same(next.stopOnOverload, shared.stopOnOverload)) overload = newOverload(next);
      shared = next;
    },
    heal: () =>
      healer?.step(clock.nowMs(), bulkhead ? bulkhead.snapshot().queued / bulkhead.snapshot().permits : 0) ?? null,
    force(order) {
      breaker?.force(order, clock.nowMs());
      return breaker !== null;
    },
    reset() {
      breaker?.reset(clock.nowMs());
      latency.clear();
      waits.clear();
      healer?.reset();
      overload?.clear();
    },
    snapshot: () => ({
      breaker: breaker?.snapshot(clock.nowMs()) ?? null,
      budget: budget.snapshot(clock.nowMs()),
      bulkhead: bulkhead?.snapshot() ?? null,
      latency: latency.snapshot(),
      waits: waits.snapshot(),
      healing: healer?.snapshot() ?? null,
      overload: overload?.snapshot(clock.nowMs()) ?? null,
      counters: { ...counters, ...ratesOf(counters) },
    }),
  };
}

/** Parts of policies are plain JSON values, with their fields in one order: a version that differs in nothing is equal. */
function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
