/** base, 2 base, 3 base ... up to the cap. */
export type LinearBackoff = { kind: "linear"; baseMs: number; capMs: number };

/** Milliseconds before retry `retry` (1-based), capped, before jitter. */
export function linearMs(backoff: LinearBackoff, retry: number): number {
  return Math.min(backoff.baseMs * retry, backoff.capMs);
}
