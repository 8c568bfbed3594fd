/**
 * A leaky bucket as a meter: what is poured in leaks out at a constant rate; what does not fit is refused. Read as a
 * shaper, `delayMs` is how long the poured amount waits until all before it has leaked.
 * Source: Turner 1986; ITU-T I.371.
 */
export type LeakyBucketPolicy = { leakPerSecond: number; capacity: number };

export type LeakyBucketState = { level: number; atMs: number };

export const EMPTY_LEAKY_BUCKET: LeakyBucketState = { level: 0, atMs: 0 };

/**
 * Pours `amount` in at `nowMs`. `waitMs` until it would fit and `delayMs` until all before it has leaked: Infinity when
 * that never comes, as with a leak of 0. Throws RangeError for a leak that is negative or no finite number.
 */
export function pour(
  policy: LeakyBucketPolicy,
  state: LeakyBucketState,
  amount: number,
  nowMs: number,
):
  | { state: LeakyBucketState; accepted: true; delayMs: number }
  | { state: LeakyBucketState; accepted: false; waitMs: number } {
  if (!(policy.leakPerSecond >= 0 && policy.leakPerSecond < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`leakPerSecond ${policy.leakPerSecond} is not 0 or more and finite`);
  }
  const atMs = Math.max(nowMs, state.atMs);
  const perMs = policy.leakPerSecond / 1000;
  const level = Math.max(0, state.level - (atMs - state.atMs) * perMs);
  if (level + amount <= policy.capacity) {
    return { state: { level: level + amount, atMs }, accepted: true, delayMs: level === 0 ? 0 : level / perMs };
  }
  const waitMs = amount > policy.capacity ? Number.POSITIVE_INFINITY : (level + amount - policy.capacity) / perMs;
  return { state: { level, atMs }, accepted: false, waitMs };
}
