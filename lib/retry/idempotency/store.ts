import type { Claim, ClaimTimes } from "@/lib/retry/idempotency/claim";

/**
 * Keeps the keys that are being worked on and their results, for all processes that may repeat them. Each method is atomic
 * in the store and uses the store's own clock. `R` must survive the store's serialisation.
 */
export interface IdempotencyStore<R> {
  claim(key: string, times: ClaimTimes): Promise<Claim<R>>;
  /** Stores the result for `windowMs`. false = fenced: another holder has claimed it since, and the result is not stored. */
  finish(key: string, fence: number, result: R, times: ClaimTimes): Promise<boolean>;
  /** Releases the unused key, so that a repeat need not wait for the lease. false = fenced. */
  release(key: string, fence: number): Promise<boolean>;
  /** Extends the lease of a holder that is still at work. false = fenced. */
  renew(key: string, fence: number, times: ClaimTimes): Promise<boolean>;
}
