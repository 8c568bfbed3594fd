import type { Clock } from "@/lib/retry/clock";
import { type Claim, type ClaimEntry, type ClaimTimes, decideClaim, holdsClaim } from "@/lib/retry/idempotency/claim";

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

/** For one process; a restart loses the keys. Beyond `entriesMax` the oldest entry goes, so set it above the keys of one window. */
export function memoryIdempotencyStore<R>(clock: Clock, entriesMax = 100_000): IdempotencyStore<R> {
  const entries = new Map<string, ClaimEntry<R>>();
  // Fences of forgotten keys must not start again below what a late holder may still have in hand.
  let fences = 0;

  const write = (key: string, entry: ClaimEntry<R>) => {
    entries.delete(key);
    entries.set(key, entry);
    forget();
  };
  const forget = () => {
    for (const [key, entry] of entries) {
      if (entries.size <= entriesMax && entry.expiresMs > clock.nowMs()) return;
      entries.delete(key);
    }
  };
  const held = (key: string, fence: number) => holdsClaim(entries.get(key) ?? null, fence);

  return {
    async claim(key: string, times: ClaimTimes): Promise<Claim<R>> {
      const { claim, entry } = decideClaim(entries.get(key) ?? null, times, clock.nowMs());
      if (claim.kind !== "claimed" || entry === null) return claim;
      fences = Math.max(fences + 1, claim.fence);
      write(key, { ...entry, fence: fences });
      return { kind: "claimed", fence: fences };
    },
    async finish(key, fence, result, { windowMs }) {
      if (!held(key, fence)) return false;
      write(key, { state: "done", fence, result, expiresMs: clock.nowMs() + windowMs });
      return true;
    },
    async release(key, fence) {
      return held(key, fence) && entries.delete(key);
    },
    async renew(key, fence, { leaseMs, windowMs }) {
      if (!held(key, fence)) return false;
      const nowMs = clock.nowMs();
      write(key, { state: "claimed", fence, leaseUntilMs: nowMs + leaseMs, expiresMs: nowMs + windowMs });
      return true;
    },
  };
}
