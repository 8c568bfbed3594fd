import {
  decorrelatedMs,
  decorrelatedMsMax,
  type ExponentialBackoff,
  exponentialMs,
  type FixedBackoff,
  fixedMs,
  type LadderBackoff,
  type LinearBackoff,
  ladderMs,
  linearMs,
} from "@/lib/retry/backoff/delays";
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
