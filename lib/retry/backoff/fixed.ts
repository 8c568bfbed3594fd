/** The same delay before every retry. */
export type FixedBackoff = { kind: "fixed"; delayMs: number };

/** Milliseconds before retry `retry` (1-based), before jitter. */
export function fixedMs(backoff: FixedBackoff): number {
  return backoff.delayMs;
}
