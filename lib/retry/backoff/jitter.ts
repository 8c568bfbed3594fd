import type { Random } from "@/lib/retry/clock";

/**
 * How a computed delay is spread, so that clients that failed together do not come back together.
 * `decorrelated` replaces the delay's own growth and is only offered by the exponential backoff.
 * Source: Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
 */
export type Jitter =
  | { kind: "none" }
  | { kind: "full" }
  | { kind: "equal" }
  | { kind: "decorrelated" }
  | { kind: "fraction"; fraction: number }
  | { kind: "absolute"; ms: number };

/**
 * Spreads `delayMs` (already capped): none = d, full = [0, d), equal = [d/2, d), fraction f = [d(1-f), d(1+f)),
 * absolute ms = [d-ms, d+ms), never below 0.
 * `decorrelated` leaves the delay as it is: its spread depends on the previous delay (see exponential).
 */
export function spread(delayMs: number, jitter: Jitter, random: Random): number {
  switch (jitter.kind) {
    case "none":
    case "decorrelated":
      return delayMs;
    case "full":
      return delayMs * random();
    case "equal":
      return delayMs / 2 + (delayMs / 2) * random();
    case "fraction":
      return delayMs * (1 + jitter.fraction * (2 * random() - 1));
    case "absolute":
      return Math.max(0, delayMs + jitter.ms * (2 * random() - 1));
  }
}

/** Largest delay `spread` can answer: only a symmetric spread reaches above the delay it was given. */
export function spreadMsMax(delayMs: number, jitter: Jitter): number {
  if (jitter.kind === "absolute") return delayMs + jitter.ms;
  return jitter.kind === "fraction" ? delayMs * (1 + jitter.fraction) : delayMs;
}

/** Smallest delay `spread` can answer. */
export function spreadMsMin(delayMs: number, jitter: Jitter): number {
  switch (jitter.kind) {
    case "none":
    case "decorrelated":
      return delayMs;
    case "full":
      return 0;
    case "equal":
      return delayMs / 2;
    case "fraction":
      return delayMs * (1 - jitter.fraction);
    case "absolute":
      return Math.max(0, delayMs - jitter.ms);
  }
}
