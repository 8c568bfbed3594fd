import { backoffMsMax, backoffMsMin } from "@/lib/retry/backoff/backoff";
import type { Violation } from "@/lib/retry/check-fields";
import type { Policy } from "@/lib/retry/policy";

/** The part of a policy that decides how long it can take. */
export type Timing = Pick<Policy, "maxAttempts" | "attemptTimeoutMs" | "deadlineMs" | "marginMs" | "backoff"> & {
  throttledBackoff?: Policy["throttledBackoff"];
};

/** Largest delay (ms) before retry `retry`, whichever of the two backoffs applies. */
function retryDelayMsMax(timing: Timing, retry: number): number {
  const plain = backoffMsMax(timing.backoff, retry);
  return timing.throttledBackoff ? Math.max(plain, backoffMsMax(timing.throttledBackoff, retry)) : plain;
}

/** Sum (ms) of the upper bounds of all delays between the attempts: maxAttempts - 1 of them. */
export function backoffTotalMsMax(timing: Timing): number {
  let total = 0;
  for (let retry = 1; retry < timing.maxAttempts; retry++) total += retryDelayMsMax(timing, retry);
  return total;
}

/**
 * W, the longest (ms) a call can take by its own policy: attemptTimeoutMs * maxAttempts + sum of the backoff bounds.
 * Waits for a permit or a rate token are not part of it: they are not the policy's, and the deadline bounds them.
 */
export function upperBoundMs(timing: Timing): number {
  return timing.attemptTimeoutMs * timing.maxAttempts + backoffTotalMsMax(timing);
}

/** Whether every attempt the policy promises fits: W <= deadlineMs - marginMs. */
export function fitsDeadline(timing: Timing): boolean {
  return upperBoundMs(timing) <= timing.deadlineMs - timing.marginMs;
}

/** The violation of a deadline that is too short; empty when it fits. */
export function fitViolations(policy: Timing): Violation[] {
  if (fitsDeadline(policy)) return [];
  return [
    {
      field: "deadlineMs",
      value: policy.deadlineMs,
      bound: `>= ${upperBoundMs(policy) + policy.marginMs} (all attempts, their longest delays and the margin)`,
    },
  ];
}

/** 1 - pDrop^maxAttempts: at least one attempt succeeds. Assumes independent failures, which an outage has not: say so where it is shown. */
export function successProbability(pDrop: number, maxAttempts: number): number {
  return 1 - pDrop ** maxAttempts;
}

/** Expected attempts: sum of pDrop^(k-1) for k = 1..maxAttempts, which is maxAttempts when everything fails. */
export function expectedAttempts(pDrop: number, maxAttempts: number): number {
  let expected = 0;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) expected += pDrop ** (attempt - 1);
  return expected;
}

/** Load on a target that fails everything, per original call: retries up to the policy, or to the budget's ratio. */
export function loadFactor(maxAttempts: number, budgetRatio: number | null): number {
  return budgetRatio === null ? maxAttempts : Math.min(maxAttempts, 1 + budgetRatio);
}

/** One attempt of the preview: when it may start (ms after the operation began), earliest and latest. */
export type ScheduleStep = {
  attempt: number;
  delayMsMin: number;
  delayMsMax: number;
  startMsMin: number;
  startMsMax: number;
  endMsMax: number;
};

/** When each attempt may start and must have ended, assuming that no permit or token is waited for. */
export function schedule(timing: Timing): ScheduleStep[] {
  const steps: ScheduleStep[] = [];
  let startMsMin = 0;
  let startMsMax = 0;
  for (let attempt = 1; attempt <= timing.maxAttempts; attempt++) {
    const retry = attempt - 1;
    const delayMsMin = retry === 0 ? 0 : backoffMsMin(timing.backoff, retry);
    const delayMsMax = retry === 0 ? 0 : retryDelayMsMax(timing, retry);
    startMsMin += delayMsMin;
    startMsMax += delayMsMax + (retry === 0 ? 0 : timing.attemptTimeoutMs);
    steps.push({
      attempt,
      delayMsMin,
      delayMsMax,
      startMsMin,
      startMsMax,
      endMsMax: startMsMax + timing.attemptTimeoutMs,
    });
  }
  return steps;
}
