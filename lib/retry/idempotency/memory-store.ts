import type { Clock } from "@/lib/retry/clock";
import { type Claim, type ClaimEntry, type ClaimTimes, decideClaim, holdsClaim } from "@/lib/retry/idempotency/claim";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";

/**
 * For one process: keys are lost on restart. Bounded: beyond `entriesMax` the entry that was written longest ago goes
 * first, which shortens the window for it, so set it above the keys of one window.
 */
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
