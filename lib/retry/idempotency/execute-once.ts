import type { Call, ExecuteOptions, Outcome } from "@/lib/retry/call";
import { execute } from "@/lib/retry/execute";
import type { ClaimTimes } from "@/lib/retry/idempotency/claim";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";

/** How a guarded operation ended. `replayed` answers with the stored result of an earlier run; nothing was sent. */
export type OnceOutcome<T> =
  | { kind: "ran"; outcome: Outcome<T> }
  | { kind: "replayed"; value: T }
  | { kind: "in-progress"; untilMs: number }
  /** It ran, but its claim had been taken over meanwhile: the other holder's result is the one that counts. */
  | { kind: "fenced"; outcome: Outcome<T> };

/**
 * Runs `call` at most once per key and window: claim, then execute, then keep the result. A run that did not succeed
 * gives the key back, so that it can be repeated with the same key; the sink's own deduplication covers what may have
 * been sent. Rejects like `execute`, and with whatever the store rejects with.
 */
export async function executeOnce<T>(
  call: Call<T> & { idempotencyKey: string },
  options: ExecuteOptions,
  { store, times }: { store: IdempotencyStore<T>; times: ClaimTimes },
): Promise<OnceOutcome<T>> {
  const key = call.idempotencyKey;
  const claim = await store.claim(key, times);
  if (claim.kind !== "claimed") {
    options.target.counters.dedupDropped++;
    return claim.kind === "done" ? { kind: "replayed", value: claim.result } : claim;
  }
  let outcome: Outcome<T>;
  try {
    outcome = await execute(call, options);
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
