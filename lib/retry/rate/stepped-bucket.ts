/**
 * A token bucket that refills in steps on a fixed grid: `refill` tokens every `intervalMs`. Between two steps nothing
 * is minted. Source: Upstash ratelimit, tokenBucket.
 */
export type SteppedBucketPolicy = { capacity: number; refill: number; intervalMs: number };

/** `gridMs` is the time of the last step that was counted; it stays on the grid. */
export type SteppedBucketState = { tokens: number; gridMs: number };

export function newSteppedBucket(policy: SteppedBucketPolicy, nowMs: number): SteppedBucketState {
  return { tokens: policy.capacity, gridMs: nowMs };
}

/**
 * Takes `cost` tokens or none. `waitMs` until enough steps have passed. Throws RangeError for a cost above
 * capacity and for a grid without steps.
 */
export function takeStepped(
  policy: SteppedBucketPolicy,
  state: SteppedBucketState,
  cost: number,
  nowMs: number,
): { state: SteppedBucketState; granted: boolean; waitMs: number } {
  if (!(cost >= 0 && cost <= policy.capacity)) {
    throw new RangeError(`cost ${cost} is not within 0 and the capacity ${policy.capacity}`);
  }
  if (!(policy.intervalMs > 0 && policy.intervalMs < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`intervalMs ${policy.intervalMs} is not above 0 and finite`);
  }
  const steps = Math.max(0, Math.floor((nowMs - state.gridMs) / policy.intervalMs));
  const tokens = Math.min(policy.capacity, state.tokens + steps * policy.refill);
  const gridMs = state.gridMs + steps * policy.intervalMs;
  if (tokens >= cost) return { state: { tokens: tokens - cost, gridMs }, granted: true, waitMs: 0 };
  const stepsMissing = Math.ceil((cost - tokens) / policy.refill);
  const waitMs = gridMs + stepsMissing * policy.intervalMs - Math.max(nowMs, gridMs);
  return { state: { tokens, gridMs }, granted: false, waitMs };
}
