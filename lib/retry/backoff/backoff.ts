import { type Jitter, spread, spreadMsMax, spreadMsMin } from "@/lib/retry/backoff/jitter";
import type { Random } from "@/lib/retry/clock";

/** How long to wait before a retry, as a plain value that can be stored. Retries are 1-based: retry 1 precedes attempt 2. */
export type Backoff = (FixedBackoff | LinearBackoff | ExponentialBackoff | LadderBackoff) & { jitter: Jitter };

/** Milliseconds before retry `retry`, capped, before jitter. */
export function plainMs(backoff: Backoff, retry: number): number {
  switch (backoff.kind) {
    case "fixed":
      return fixedMs(backoff);
    case "linear":
      return linearMs(backoff, retry);
    case "exponential":
      return exponentialMs(backoff, retry);
    case "ladder":
      return ladderMs(backoff, retry);
  }
}

/**
 * Milliseconds to wait before retry `retry`, capped first and spread after.
 * @param previousMs the delay before the last retry, null before the first: only decorrelated jitter reads it.
 */
export function backoffMs(backoff: Backoff, retry: number, previousMs: number | null, random: Random): number {
  if (backoff.kind === "exponential" && backoff.jitter.kind === "decorrelated") {
    return decorrelatedMs(backoff, previousMs ?? backoff.baseMs, random);
  }
  return spread(plainMs(backoff, retry), backoff.jitter, random);
}

/** Upper bound of `backoffMs` over every random draw: what the policy assertion and the schedule preview add up. */
export function backoffMsMax(backoff: Backoff, retry: number): number {
  if (backoff.kind === "exponential" && backoff.jitter.kind === "decorrelated") {
    return decorrelatedMsMax(backoff, retry);
  }
  return spreadMsMax(plainMs(backoff, retry), backoff.jitter);
}

/** Lower bound of `backoffMs` over every random draw, for the schedule preview. */
export function backoffMsMin(backoff: Backoff, retry: number): number {
  if (backoff.kind === "exponential" && backoff.jitter.kind === "decorrelated") {
    return Math.min(backoff.baseMs, backoff.capMs);
  }
  return spreadMsMin(plainMs(backoff, retry), backoff.jitter);
}

/** base, base * factor, base * factor^2 ... up to the cap. */
type ExponentialBackoff = { kind: "exponential"; baseMs: number; factor: number; capMs: number };

/**
 * Milliseconds before retry `retry` (1-based), capped, before jitter: min(cap, base * factor^(retry-1)).
 * The power overflows to Infinity near retry 1,000 and the cap takes it; 0 * Infinity would be NaN, hence the guard.
 */
function exponentialMs(backoff: ExponentialBackoff, retry: number): number {
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
function decorrelatedMsMax(backoff: ExponentialBackoff, retry: number): number {
  if (backoff.baseMs === 0) return 0;
  return Math.min(backoff.capMs, backoff.baseMs * 3 ** retry);
}

type FixedBackoff = { kind: "fixed"; delayMs: number };

/** Milliseconds before retry `retry` (1-based), before jitter. */
function fixedMs(backoff: FixedBackoff): number {
  return backoff.delayMs;
}

/** An explicit list of delays; past its end the last one repeats. */
type LadderBackoff = { kind: "ladder"; stepsMs: readonly number[] };

/** Milliseconds before retry `retry` (1-based), before jitter. An empty ladder waits 0 ms; validation refuses it. */
function ladderMs(backoff: LadderBackoff, retry: number): number {
  return backoff.stepsMs[Math.min(retry, backoff.stepsMs.length) - 1] ?? 0;
}

/** base, 2 base, 3 base ... up to the cap. */
type LinearBackoff = { kind: "linear"; baseMs: number; capMs: number };

/** Milliseconds before retry `retry` (1-based), capped, before jitter. */
function linearMs(backoff: LinearBackoff, retry: number): number {
  return Math.min(backoff.baseMs * retry, backoff.capMs);
}
