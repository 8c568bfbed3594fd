/** A token bucket that refills continuously. Invariant: tokens granted in any window of t s <= ratePerSecond * t + capacity. */
export type TokenBucketPolicy = {
  ratePerSecond: number;
  /** Most tokens it holds: the burst. */
  capacity: number;
  /** Time over which the rate rises from a third to its full value after the start; 0 = none. */
  warmUpMs: number;
};

/** Plain values: a store can keep them. Times are the clock of whoever decides, in milliseconds. */
export type TokenBucketState = { tokens: number; atMs: number; startedMs: number };

/** `waitMs` until the tokens could be there, Infinity when they never will. */
type Taken = { granted: true; waitMs: 0 } | { granted: false; waitMs: number };

/** A cold target is given a third of its rate. Source: Guava's SmoothWarmingUp, coldFactor 3. */
const COLD = 1 / 3;

export function newTokenBucket(policy: TokenBucketPolicy, nowMs: number, tokens = policy.capacity): TokenBucketState {
  return { tokens, atMs: nowMs, startedMs: nowMs };
}

/** The bucket as it stands at `nowMs`. A clock that has gone backwards mints nothing. */
export function refilled(policy: TokenBucketPolicy, state: TokenBucketState, nowMs: number): TokenBucketState {
  const atMs = Math.max(nowMs, state.atMs);
  const minted = mintedBy(policy, atMs - state.startedMs) - mintedBy(policy, state.atMs - state.startedMs);
  return { ...state, tokens: Math.min(policy.capacity, state.tokens + minted), atMs };
}

/** Takes all or none. Throws RangeError for a cost that is negative, not finite or above the capacity: it would wait for ever. */
export function takeTokens(
  policy: TokenBucketPolicy,
  state: TokenBucketState,
  cost: number,
  nowMs: number,
): { state: TokenBucketState; taken: Taken } {
  if (!(cost >= 0 && cost <= policy.capacity)) {
    throw new RangeError(`cost ${cost} is not within 0 and the capacity ${policy.capacity}`);
  }
  const now = refilled(policy, state, nowMs);
  // A refill that is short by a rounding error of the last digit is a refill.
  if (now.tokens + 1e-9 >= cost) {
    return { state: { ...now, tokens: Math.max(0, now.tokens - cost) }, taken: { granted: true, waitMs: 0 } };
  }
  return { state: now, taken: { granted: false, waitMs: waitMs(policy, now, cost) } };
}

/** The bucket under a changed policy: what has been minted stays, within the new capacity. */
export function withPolicy(policy: TokenBucketPolicy, state: TokenBucketState): TokenBucketState {
  return { ...state, tokens: Math.min(policy.capacity, state.tokens) };
}

function waitMs(policy: TokenBucketPolicy, now: TokenBucketState, cost: number): number {
  const ageMs = now.atMs - now.startedMs;
  return ageAt(policy, mintedBy(policy, ageMs) + cost - now.tokens) - ageMs;
}

/** Integral of the rate at this age. During the warm-up r * (c + (1 - c) * t / w), hence r * (c * t + (1 - c) * t^2 / 2w). */
function mintedBy({ ratePerSecond, warmUpMs }: TokenBucketPolicy, ageMs: number): number {
  const perMs = ratePerSecond / 1000;
  if (ageMs >= warmUpMs) return perMs * (ageMs - (warmUpMs * (1 - COLD)) / 2);
  return perMs * (COLD * ageMs + ((1 - COLD) * ageMs ** 2) / (2 * warmUpMs));
}

/** The age at which a bucket has minted `tokens`: the inverse of `mintedBy`. Infinity at a rate of 0. */
function ageAt({ ratePerSecond, warmUpMs }: TokenBucketPolicy, tokens: number): number {
  const perMs = ratePerSecond / 1000;
  const warmMs = tokens / perMs + (warmUpMs * (1 - COLD)) / 2;
  if (warmMs >= warmUpMs) return warmMs;
  const a = (1 - COLD) / (2 * warmUpMs);
  return (-COLD + Math.sqrt(COLD ** 2 + (4 * a * tokens) / perMs)) / (2 * a);
}
