import type { BucketSpec } from "./port";

/** Tolerance for 0.9999999999 tokens. The bucket goes below zero by as much, so nothing is gained over time. */
export const TOKEN_EPSILON = 1e-9;

/** Throws RangeError for a spec that no bucket can serve, or a cost that it can never pay. */
export function assertTakeable({ ratePerSecond, burst, lent = 0 }: BucketSpec, cost: number): void {
  if (!(Number.isFinite(ratePerSecond) && ratePerSecond >= 0)) {
    throw new RangeError(`ratePerSecond must be 0 or more, and finite: ${ratePerSecond}`);
  }
  if (!(Number.isFinite(burst) && burst >= 1)) throw new RangeError(`burst must be 1 or more, and finite: ${burst}`);
  if (!(Number.isFinite(lent) && lent >= 0)) throw new RangeError(`lent must be 0 or more, and finite: ${lent}`);
  if (!(Number.isFinite(cost) && cost > 0)) throw new RangeError(`cost must be above 0, and finite: ${cost}`);
}

/** As `assertTakeable`, for a take of all or nothing. */
export function assertAffordable(spec: BucketSpec, cost: number): void {
  assertTakeable(spec, cost);
  if (cost > spec.burst)
    throw new RangeError(`cost ${cost} is above the burst of ${spec.burst}: it could never be paid`);
}

/** Milliseconds until `wanted` tokens may be taken, given `tokens` now. Infinity at a rate of 0, whatever is there. */
export function waitMsUntil(wanted: number, tokens: number, ratePerSecond: number): number {
  if (ratePerSecond === 0) return Number.POSITIVE_INFINITY;
  const missing = wanted - tokens;
  return missing <= TOKEN_EPSILON ? 0 : (missing / ratePerSecond) * 1000;
}

/** What a take of up to some tokens answers, given what is left of them. */
export function upToAnswer({ ratePerSecond, lent = 0 }: BucketSpec, granted: number, left: number) {
  return {
    granted,
    waitMs: waitMsUntil(1 - lent, left, ratePerSecond),
    dueMs: granted === 0 ? 0 : waitMsUntil(1, left + granted, ratePerSecond),
  };
}
