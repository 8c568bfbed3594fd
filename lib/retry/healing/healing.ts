/** When a target shows strain, slow down by bounded steps; when it is quiet, step back. Ratios are in (0, 1]. */
export type HealingPolicy = {
  /** Retries per attempt in the window at which a step is taken. */
  retryRatio: number;
  /** Timeouts per attempt in the window at which a step is taken. */
  timeoutRatio: number;
  /** Attempts in the window below which nothing is decided. */
  callsMin: number;
  windowMs: number;
  /** Each step multiplies delays and divides the rate by this. */
  stepFactor: number;
  stepsMax: number;
  /** Hysteresis: steps back only when both ratios are below this share of their thresholds. */
  quietRatio: number;
  /** Time between two steps in either direction. */
  cooldownMs: number;
};

/** Steps taken so far and when the last one was (monotonic ms, null = never). */
export type HealingState = { steps: number; steppedAtMs: number | null };

export type HealingRates = { attempts: number; retries: number; timeouts: number };

/** A step to be audited: its direction, its reason, and the factors in force after it. */
export type HealingStep = {
  direction: "slow-down" | "speed-up";
  cause: "retry-ratio" | "timeout-ratio" | "quiet";
  retryRatio: number;
  timeoutRatio: number;
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
  const turn = turnOf(policy, rates.attempts, retryRatio, timeoutRatio);
  if (turn === null) return null;
  const steps = state.steps + (turn.direction === "slow-down" ? 1 : -1);
  if (steps < 0 || steps > policy.stepsMax) return null;
  const factors = healingFactors(policy, steps);
  return { state: { steps, steppedAtMs: nowMs }, step: { ...turn, retryRatio, timeoutRatio, steps, ...factors } };
}

/** The factors after `steps`: delays times stepFactor^steps, rate divided by the same. */
export function healingFactors(policy: HealingPolicy, steps: number): { backoffFactor: number; rateFactor: number } {
  const factor = policy.stepFactor ** steps;
  return { backoffFactor: factor, rateFactor: 1 / factor };
}

/** A window with too few attempts says nothing bad, and is quiet: a slowed-down target must not stay slow for want of traffic. */
function turnOf(
  policy: HealingPolicy,
  attempts: number,
  retryRatio: number,
  timeoutRatio: number,
): Pick<HealingStep, "direction" | "cause"> | null {
  if (attempts >= policy.callsMin) {
    if (timeoutRatio >= policy.timeoutRatio) return { direction: "slow-down", cause: "timeout-ratio" };
    if (retryRatio >= policy.retryRatio) return { direction: "slow-down", cause: "retry-ratio" };
  }
  const quiet =
    retryRatio < policy.retryRatio * policy.quietRatio && timeoutRatio < policy.timeoutRatio * policy.quietRatio;
  return quiet || attempts < policy.callsMin ? { direction: "speed-up", cause: "quiet" } : null;
}
