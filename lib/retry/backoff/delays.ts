import type { Random } from "@/lib/retry/clock";

/** base, base * factor, base * factor^2 ... up to the cap. */
export type ExponentialBackoff = { kind: "exponential"; baseMs: number; factor: number; capMs: number };

/**
 * Milliseconds before retry `retry` (1-based), capped, before jitter: min(cap, base * factor^(retry-1)).
 * The power overflows to Infinity near retry 1,000 and the cap takes it; 0 * Infinity would be NaN, hence the guard.
 */
export function exponentialMs(backoff: ExponentialBackoff, retry: number): number {
  if (backoff.baseMs === 0) return 0;
  return Math.min(backoff.baseMs * backoff.factor ** (retry - 1), backoff.capMs);
}

/** min(cap, uniform(base, 3 * previous)), where the first "previous" is the base. Source: Brooker 2015, `Decorr`. */
export function decorrelatedMs(backoff: ExponentialBackoff, previousMs: number, random: Random): number {
  const low = backoff.baseMs;
  const high = Math.max(low, previousMs * 3);
  return Math.min(backoff.capMs, low + (high - low) * random());
}

/** Largest decorrelated delay before retry `retry`: every draw at its top, base * 3^retry, capped. */
export function decorrelatedMsMax(backoff: ExponentialBackoff, retry: number): number {
  if (backoff.baseMs === 0) return 0;
  return Math.min(backoff.capMs, backoff.baseMs * 3 ** retry);
}

export type FixedBackoff = { kind: "fixed"; delayMs: number };

/** Milliseconds before retry `retry` (1-based), before jitter. */
export function fixedMs(backoff: FixedBackoff): number {
  return backoff.delayMs;
}

/** An explicit list of delays; past its end the last one repeats. */
export type LadderBackoff = { kind: "ladder"; stepsMs: readonly number[] };

/** Milliseconds before retry `retry` (1-based), before jitter. An empty ladder waits 0 ms; validation refuses it. */
export function ladderMs(backoff: LadderBackoff, retry: number): number {
  return backoff.stepsMs[Math.min(retry, backoff.stepsMs.length) - 1] ?? 0;
}

/** base, 2 base, 3 base ... up to the cap. */
export type LinearBackoff = { kind: "linear"; baseMs: number; capMs: number };

/** Milliseconds before retry `retry` (1-based), capped, before jitter. */
export function linearMs(backoff: LinearBackoff, retry: number): number {
  return Math.min(backoff.baseMs * retry, backoff.capMs);
}
