import type { Random } from "@/lib/retry/clock";
import { rollingSums } from "@/lib/retry/window/rolling-sums";

/** Rejects sends by chance on our own side while the target accepts too few of them. */
export type OverloadPolicy = {
  /** Sends are rejected when fewer than one in `k` is accepted. With 2 the target still sees twice what it accepts. */
  k: number;
  /** How long a send counts. The source takes two minutes. */
  windowMs: number;
};

export type OverloadSnapshot = { requests: number; accepts: number; rejectionProbability: number };

/** The sends of one target, those that were rejected here included. Times are monotonic milliseconds. */
export type OverloadGate = {
  /** Asks to send. Draws a number only while some sends are to be rejected. */
  admits(random: Random, nowMs: number): boolean;
  /** The target has accepted a send: it answered, if only with a permanent refusal. */
  accept(nowMs: number): void;
  /** A send that was admitted says nothing about the target: it was cancelled, or did not begin. */
  withdraw(nowMs: number): void;
  snapshot(nowMs: number): OverloadSnapshot;
  clear(): void;
};

/**
 * Probability with which a client rejects a request itself, before an overloaded target has to:
 * max(0, (requests - k * accepts) / (requests + 1)).
 * Source: Google SRE book, "Handling Overload", client-side throttling.
 */
export function rejectionProbability(requests: number, accepts: number, k: number): number {
  return Math.max(0, (requests - k * accepts) / (requests + 1));
}

const REQUESTS = 0;
const ACCEPTS = 1;
const SLOTS = 12;

export function overloadGate({ k, windowMs }: OverloadPolicy): OverloadGate {
  const sums = rollingSums(2, windowMs, SLOTS);
  const read = (nowMs: number): OverloadSnapshot => {
    // A send that is withdrawn after its own slot has expired would leave less than none.
    const requests = Math.max(0, sums.sum(REQUESTS, nowMs));
    const accepts = sums.sum(ACCEPTS, nowMs);
    return { requests, accepts, rejectionProbability: rejectionProbability(requests, accepts, k) };
  };
  return {
    admits(random, nowMs) {
      const probability = read(nowMs).rejectionProbability;
      sums.add(REQUESTS, 1, nowMs);
      return probability === 0 || random() >= probability;
    },
    accept: (nowMs) => sums.add(ACCEPTS, 1, nowMs),
    withdraw: (nowMs) => sums.add(REQUESTS, -1, nowMs),
    snapshot: read,
    clear: sums.clear,
  };
}
