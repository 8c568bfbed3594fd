import type { Backoff } from "@/lib/retry/backoff/backoff";
import { fitViolations } from "@/lib/retry/bounds";
import type { BreakerPolicy } from "@/lib/retry/breaker/breaker";
import type { BudgetPolicy } from "@/lib/retry/budget/budget";
import type { HealingPolicy } from "@/lib/retry/healing/healing";
import type { HedgePolicy } from "@/lib/retry/hedge/hedge-policy";
import { checkPolicy, type Violation } from "@/lib/retry/policy-check";
import { PolicyError } from "@/lib/retry/policy-error";
import type { OverloadPolicy } from "@/lib/retry/rate/overload";
import type { DynamicTimeout } from "@/lib/retry/timeout/dynamic";
import type { PhaseTimeouts } from "@/lib/retry/timeout/phases";
import { INTERACTIVE, LADDER, SLOW_LANE } from "@/lib/retry/times";

/** How one target is called: a plain JSON value that is stored, versioned and edited. Times are milliseconds. */
export type Policy = {
  /** Counts the first attempt: 1 never repeats. */
  maxAttempts: number;
  attemptTimeoutMs: number;
  /** The whole operation, waits for permits and tokens included. */
  deadlineMs: number;
  /** Kept free before the deadline, so that the last answer can still be recorded. */
  marginMs: number;
  backoff: Backoff;
  /** Used instead of `backoff` after a throttled attempt without Retry-After; null = the same. */
  throttledBackoff: Backoff | null;
  /** Longest Retry-After that is followed; a longer one defers by this much. */
  retryAfterMsMax: number;
  /**
   * Codes of the classifier that are repeated, or their types: transient, throttled, ambiguous, unknown. Every other failure is final. null or absent = each failure that may be repeated.
   * A listed code is repeated only when it may be: a permanent refusal, or a possible effect without a key, never is.
   */
  retryOn?: readonly string[] | null;
  budget: BudgetPolicy;
  breaker: BreakerPolicy | null;
  phases: PhaseTimeouts | null;
  dynamicTimeout: DynamicTimeout | null;
  hedge: HedgePolicy | null;
  healing: HealingPolicy | null;
  /** Sends less by chance while the target accepts too few of the sends. null or absent = every send is made. */
  stopOnOverload?: OverloadPolicy | null;
};

/** Violations by field, value and bound; empty when it may run. The shape is checked first, then whether attempts fit the deadline. */
export function validatePolicy(candidate: unknown): Violation[] {
  const violations = checkPolicy(candidate);
  return violations.length > 0 ? violations : fitViolations(candidate as Policy);
}

/** The candidate as a policy, or a PolicyError that lists what is wrong. */
export function parsePolicy(candidate: unknown): Policy {
  const violations = validatePolicy(candidate);
  if (violations.length > 0) throw new PolicyError(violations);
  return candidate as Policy;
}

const asserted = new WeakSet<Policy>();

/**
 * Refuses a policy whose attempts do not fit its deadline: sum of the backoff bounds + maxAttempts * attemptTimeoutMs
 * must be <= deadlineMs - marginMs. Throws PolicyError. A policy that passed is remembered by identity: do not change
 * it afterwards.
 */
export function assertPolicy(policy: Policy): void {
  if (asserted.has(policy)) return;
  parsePolicy(policy);
  asserted.add(policy);
}

const SHARED = {
  throttledBackoff: null,
  retryAfterMsMax: 24 * 60 * 60 * 1000,
  phases: null,
  dynamicTimeout: null,
  hedge: null,
  retryOn: null,
  stopOnOverload: null,
} as const;

/** Retries may add a tenth to the load, three a second are always allowed. */
export const BUDGET: BudgetPolicy = {
  kind: "ratio",
  ratio: 0.1,
  windowMs: 10_000,
  floorPerSecond: 3,
  ceilingPerSecond: 50,
  deposit: "request",
  cost: { transient: 1, throttled: 1 },
};

export const BREAKER: BreakerPolicy = {
  trip: { kind: "time", windowMs: 30_000, callsMin: 10, failureRatio: 0.5, slowCallMs: null, slowRatio: 1 },
  openMs: 30_000,
  openMsMax: 300_000,
  probes: 1,
  probeEveryMs: 1_000,
  probeMsMax: 60_000,
};

const HEALING: HealingPolicy = {
  retryRatio: 0.3,
  timeoutRatio: 0.2,
  queueRatio: null,
  callsMin: 20,
  windowMs: 60_000,
  stepFactor: 2,
  stepsMax: 3,
  quietRatio: 0.5,
  cooldownMs: 60_000,
};

/** Ready-made policies. Each fits its deadline; `assertPolicy` accepts all of them. */
export const POLICY_PRESETS = {
  interactive: {
    ...SHARED,
    ...INTERACTIVE,
    budget: BUDGET,
    breaker: BREAKER,
    healing: null,
  },
  "slow-lane": {
    ...SHARED,
    ...SLOW_LANE,
    budget: BUDGET,
    breaker: BREAKER,
    healing: HEALING,
  },
  ladder: {
    ...SHARED,
    ...LADDER,
    budget: BUDGET,
    breaker: BREAKER,
    healing: HEALING,
  },
  // For a target whose usual latency is far below the attempt timeout: an attempt that hangs ends at twice its p99. A throttled attempt
  // waits twice as long as another one, and a queue of two sends per slot counts as overload.
  adaptive: {
    ...SHARED,
    ...SLOW_LANE,
    throttledBackoff: { ...SLOW_LANE.backoff, baseMs: 2_000 },
    phases: { connectMs: 1_000, firstByteMs: 2_000 },
    dynamicTimeout: { quantile: 0.99, factor: 2, msMin: 250, samplesMin: 100 },
    budget: BUDGET,
    breaker: BREAKER,
    healing: { ...HEALING, queueRatio: 2 },
  },
} as const satisfies Record<string, Policy>;
