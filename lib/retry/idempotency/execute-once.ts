import type { Outcome } from "@/lib/retry/call";
import type { ClaimTimes } from "@/lib/retry/idempotency/claim";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";

/** How a guarded operation ended. `replayed` answers with the stored result of an earlier run; nothing was sent. */
export type OnceOutcome<T> =
  | { kind: "ran"; outcome: Outcome<T> }
  | { kind: "replayed"; value: T }
  | { kind: "in-progress"; untilMs: number }
  /** It ran, but its claim had been taken over meanwhile: the other holder's result is the one that counts. */
  | { kind: "fenced"; outcome: Outcome<T> };

export type OnceOptions<T> = {
  store: IdempotencyStore<T>;
  times: ClaimTimes;
  /** Called when the key has been seen, and nothing is run. */
  onDropped?: () => void;
};

/**
 * Runs an operation at most once per key and window: claim, then `run`, then keep the result. A run that did not succeed
 * gives the key back, so that it can be repeated with the same key; the sink's own deduplication covers what may have
 * been sent. Rejects with what `run` or the store rejects with. A run that takes longer than `leaseMs` may be claimed by
 * another holder: the lease must be longer than the operation's deadline.
 */
export async function executeOnce<T>(
  key: string,
  run: () => Promise<Outcome<T>>,
  { store, times, onDropped }: OnceOptions<T>,
): Promise<OnceOutcome<T>> {
  const claim = await store.claim(key, times);
  if (claim.kind !== "claimed") {
    onDropped?.();
    return claim.kind === "done" ? { kind: "replayed", value: claim.result } : claim;
  }
  let outcome: Outcome<T>;
  try {
    outcome = await run();
  } catch (error) {
    await store.release(key, claim.fence);
    throw error;
  }
  const kept =
    outcome.kind === "ok"
      ? await store.finish(key, claim.fence, outcome.value, times)
      : await store.release(key, claim.fence);
  return { kind: kept ? "ran" : "fenced", outcome };
}
