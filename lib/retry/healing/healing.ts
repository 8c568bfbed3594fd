/** When a target shows strain, slow down by bounded steps; when it is quiet, step back. Ratios are above 0. */
export type HealingPolicy = {
  /** Retries per attempt in the window at which a step is taken. */
  retryRatio: number;
  /** Timeouts per attempt in the window at which a step is taken. */
  timeoutRatio: number;
  /** Queued sends per permit at which a step is taken; may be above 1. null or absent = the queue is ignored. */
  queueRatio?: number | null;
  /** Attempts in the window below which nothing is decided by retries and timeouts. */
  callsMin: number;
  windowMs: number;
  /** Each step multiplies delays and divides the rate by this. */
  stepFactor: number;
  stepsMax: number;
  /** Hysteresis: steps back only when all ratios are below this share of their thresholds. */
  quietRatio: number;
  /** Time between two steps in either direction. */
  cooldownMs: number;
};

/** Steps taken so far and when the last one was (monotonic ms, null = never). */
type HealingState = { steps: number; steppedAtMs: number | null };

/** `queueRatio`: sends that wait at the bulkhead now, per permit; absent = there is no bulkhead. */
type HealingRates = { attempts: number; retries: number; timeouts: number; queueRatio?: number };

/** A step to be audited: its direction, its reason, and the factors in force after it. */
export type HealingStep = {
  direction: "slow-down" | "speed-up";
  cause: "retry-ratio" | "timeout-ratio" | "queue-ratio" | "quiet";
  retryRatio: number;
  timeoutRatio: number;
  queueRatio: number;
  steps: number;
  /** Multiplies every backoff delay. */
  backoffFactor: number;
  /** Multiplies the target's rate. */
  rateFactor: number;
};

export const UNTOUCHED: HealingState = { steps: 0, steppedAtMs: null };

/** Decides the next step at `nowMs` (monotonic), or null for none. Pure: the caller keeps the state it answers. */
export function heal(
  policy: HealingPolicy,
  state: HealingState,
  rates: HealingRates,
  nowMs: number,
): { state: HealingState; step: HealingStep } | null {
  if (state.steppedAtMs !== null && nowMs - state.steppedAtMs < policy.cooldownMs) return null;
  const retryRatio = rates.attempts === 0 ? 0 : rates.retries / rates.attempts;
  const timeoutRatio = rates.attempts === 0 ? 0 : rates.timeouts / rates.attempts;
  const { queueRatio = 0 } = rates;
  const turn = turnOf(policy, { attempts: rates.attempts, retryRatio, timeoutRatio, queueRatio });
  if (turn === null) return null;
  const steps = state.steps + (turn.direction === "slow-down" ? 1 : -1);
  if (steps < 0 || steps > policy.stepsMax) return null;
  const factors = healingFactors(policy, steps);
  return {
    state: { steps, steppedAtMs: nowMs },
    step: { ...turn, retryRatio, timeoutRatio, queueRatio, steps, ...factors },
  };
}

/** The factors after `steps`: delays times stepFactor^steps, rate divided by the same. */
export function healingFactors(policy: HealingPolicy, steps: number): { backoffFactor: number; rateFactor: number } {
  const factor = policy.stepFactor ** steps;
  return { backoffFactor: factor, rateFactor: 1 / factor };
}

type Strain = Pick<HealingStep, "retryRatio" | "timeoutRatio" | "queueRatio"> & { attempts: number };

/**
 * A window with too few attempts says nothing bad of retries and timeouts, and is quiet: a slowed-down target must not stay slow
 * for want of traffic. The queue is judged at any time: few sends end while many wait.
 */
function turnOf(policy: HealingPolicy, strain: Strain): Pick<HealingStep, "direction" | "cause"> | null {
  const { attempts, retryRatio, timeoutRatio, queueRatio } = strain;
  const queueMax = policy.queueRatio ?? Number.POSITIVE_INFINITY;
  if (attempts >= policy.callsMin) {
    if (timeoutRatio >= policy.timeoutRatio) return { direction: "slow-down", cause: "timeout-ratio" };
    if (retryRatio >= policy.retryRatio) return { direction: "slow-down", cause: "retry-ratio" };
  }
  if (queueRatio >= queueMax) return { direction: "slow-down", cause: "queue-ratio" };
  if (queueRatio >= queueMax * policy.quietRatio) return null;
  const quiet =
    retryRatio < policy.retryRatio * policy.quietRatio && timeoutRatio < policy.timeoutRatio * policy.quietRatio;
  return quiet || attempts < policy.callsMin ? { direction: "speed-up", cause: "quiet" } : null;
}
