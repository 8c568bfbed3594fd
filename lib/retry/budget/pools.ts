import { rollingSums } from "@/lib/retry/window/rolling-sums";

/** Slots a window is cut into. */
const SLOTS = 10;

/** Sums of tenths (10 x 0.1) miss the integer by an ulp; this much may be missing from a balance. */
export const EPSILON = 1e-9;

/**
 * Credits and debits that expire, above a reserve. Each lives for at least windowMs and at most a tenth longer, so what
 * is spent within any windowMs never exceeds reserve + the credits of that time and of the tenth before it. The reserve is not refilled by time: a
 * debit has to expire first. Source: Finagle's LeakyTokenBucket.
 */
type LeakyPool = {
  put(amount: number, nowMs: number): void;
  /** Takes all of `amount` or nothing. */
  take(amount: number, nowMs: number): boolean;
  balance(nowMs: number): number;
};

export function leakyPool(windowMs: number, reserve: number): LeakyPool {
  const sums = rollingSums(1, (windowMs * (SLOTS + 1)) / SLOTS, SLOTS + 1);
  const balance = (nowMs: number) => reserve + sums.sum(0, nowMs);
  return {
    put: (amount, nowMs) => sums.add(0, amount, nowMs),
    take(amount, nowMs) {
      if (balance(nowMs) + EPSILON < amount) return false;
      sums.add(0, -amount, nowMs);
      return true;
    },
    balance,
  };
}

/** A bounded amount that never expires. Source: AWS SDK RetryQuota. */
type QuotaPool = {
  give(amount: number): void;
  take(amount: number): boolean;
  readonly left: number;
};

export function quotaPool(capacity: number, initial = capacity): QuotaPool {
  let left = initial;
  return {
    give(amount) {
      left = Math.min(capacity, left + amount);
    },
    take(amount) {
      if (left < amount) return false;
      left -= amount;
      return true;
    },
    get left() {
      return left;
    },
  };
}
