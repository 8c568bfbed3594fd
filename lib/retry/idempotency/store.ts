import type { Claim, ClaimTimes } from "@/lib/retry/idempotency/claim";

/**
 * Remembers which keys are being worked on and what came of them, shared by all who may repeat. Each method is atomic
 * in the store and uses the store's own clock. `R` must survive the store's serialisation.
 */
export interface IdempotencyStore<R> {
  claim(key: string, times: ClaimTimes): Promise<Claim<R>>;
  /** Stores the result for `windowMs`. false = fenced: somebody else has claimed since, and the result is not stored. */
  finish(key: string, fence: number, result: R, times: ClaimTimes): Promise<boolean>;
  /** Gives the key back unused, so that a repeat need not wait for the lease. false = fenced. */
  release(key: string, fence: number): Promise<boolean>;
  /** Extends the lease of a holder that is still at work. false = fenced. */
  renew(key: string, fence: number, times: ClaimTimes): Promise<boolean>;
}
