import type { LatencyHistory } from "@/lib/retry/timeout/latency";

/** A timeout that follows the target's own latency: quantile times factor, clamped. */
export type DynamicTimeout = {
  /** 0.95 or 0.99 of the history. */
  quantile: number;
  /** Head room above the quantile, >= 1. */
  factor: number;
  /** Never shorter than this. The policy's attemptTimeoutMs is the upper clamp. */
  msMin: number;
  /** Below this many samples the policy's attemptTimeoutMs is used as it is. */
  samplesMin: number;
};

/** clamp(quantile * factor, msMin, msMax), ms. An unknown quantile (among cut calls) gives msMax: the timeout must not shrink under load. */
export function dynamicTimeoutMs(policy: DynamicTimeout, history: LatencyHistory, msMax: number): number {
  if (history.samples < policy.samplesMin) return msMax;
  const quantileMs = history.quantileMs(policy.quantile);
  if (quantileMs === null) return msMax;
  return Math.min(msMax, Math.max(policy.msMin, quantileMs * policy.factor));
}
