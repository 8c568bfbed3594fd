import { type HealingPolicy, type HealingStep, heal, healingFactors, UNTOUCHED } from "@/lib/retry/healing/healing";
import { rollingSums } from "@/lib/retry/window/rolling-sums";

/** Self-healing of one target: watches its attempts and keeps the steps taken. */
export type Healer = {
  observe(attempt: { retry: boolean; timeout: boolean }, nowMs: number): void;
  /** Takes at most one step. @param queueRatio sends that wait at the bulkhead, per permit @returns the step to be audited, or null */
  step(nowMs: number, queueRatio?: number): HealingStep | null;
  /** Multiplies every backoff delay, 1 when untouched. */
  readonly backoffFactor: number;
  /** Multiplies the target's rate, 1 when untouched. */
  readonly rateFactor: number;
  snapshot(): { steps: number; backoffFactor: number; rateFactor: number };
  reset(): void;
};

const ATTEMPTS = 0;
const RETRIES = 1;
const TIMEOUTS = 2;
const SLOTS = 12;

export function createHealer(policy: HealingPolicy): Healer {
  const sums = rollingSums(3, policy.windowMs, SLOTS);
  let state = UNTOUCHED;
  let factors = healingFactors(policy, 0);
  return {
    observe({ retry, timeout }, nowMs) {
      sums.add(ATTEMPTS, 1, nowMs);
      if (retry) sums.add(RETRIES, 1, nowMs);
      if (timeout) sums.add(TIMEOUTS, 1, nowMs);
    },
    step(nowMs, queueRatio = 0) {
      const rates = {
        attempts: sums.sum(ATTEMPTS, nowMs),
        retries: sums.sum(RETRIES, nowMs),
        timeouts: sums.sum(TIMEOUTS, nowMs),
        queueRatio,
      };
      const next = heal(policy, state, rates, nowMs);
      if (next === null) return null;
      state = next.state;
      factors = healingFactors(policy, state.steps);
      return next.step;
    },
    get backoffFactor() {
      return factors.backoffFactor;
    },
    get rateFactor() {
      return factors.rateFactor;
    },
    snapshot: () => ({ steps: state.steps, ...factors }),
    reset() {
      state = UNTOUCHED;
      factors = healingFactors(policy, 0);
      sums.clear();
    },
  };
}
