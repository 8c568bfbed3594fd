import { outcomeRing } from "@/lib/retry/window/outcome-ring";
import { rollingSums } from "@/lib/retry/window/rolling-sums";
import { leastAt } from "@/lib/retry/window/share";

/** Thresholds of a windowed trip. Ratios are in (0, 1]; reaching one is enough. Source: resilience4j's circuit breaker. */
type TripRates = {
  /** Results in the window below which nothing is decided. */
  callsMin: number;
  failureRatio: number;
  /** A call that took this long or longer is slow, whatever it answered. null = slowness is not judged. */
  slowCallMs: number | null;
  slowRatio: number;
};

export type Trip =
  | { kind: "consecutive"; failures: number }
  | ({ kind: "count"; size: number } & TripRates)
  | ({ kind: "time"; windowMs: number } & TripRates);

/** The counts of a window. `consecutive` counts the failures since the last success as `failures`. */
export type TripCounts = { calls: number; failures: number; slow: number };

/** Remembers results and says after each whether the breaker should open. */
export type TripGauge = {
  /** @returns true when a threshold is reached with this result: a success can be the one that completes the minimum. */
  record(failed: boolean, slow: boolean, nowMs: number): boolean;
  counts(nowMs: number): TripCounts;
  clear(): void;
};

/** True when `counts` reach the minimum of calls and one of the two ratios. */
export function shouldTrip(counts: TripCounts, rates: TripRates): boolean {
  if (counts.calls < rates.callsMin) return false;
  if (counts.failures >= leastAt(rates.failureRatio, counts.calls)) return true;
  return rates.slowCallMs !== null && counts.slow >= leastAt(rates.slowRatio, counts.calls);
}

/** Whether a call of this length counts as slow under `trip`. */
export function isSlow(trip: Trip, elapsedMs: number): boolean {
  return trip.kind !== "consecutive" && trip.slowCallMs !== null && elapsedMs >= trip.slowCallMs;
}

export function tripGauge(trip: Trip): TripGauge {
  switch (trip.kind) {
    case "consecutive":
      return consecutiveGauge(trip.failures);
    case "count":
      return countGauge(trip.size, trip);
    case "time":
      return timeGauge(trip.windowMs, trip);
  }
}

/** Gauge of the half-open state: a ratio needs the reports of all probes, a consecutive trip its first failure. */
export function probeGauge(trip: Trip, probes: number): TripGauge {
  return trip.kind === "consecutive" ? consecutiveGauge(1) : countGauge(probes, { ...trip, callsMin: probes });
}

function consecutiveGauge(limit: number): TripGauge {
  let calls = 0;
  let failures = 0;
  return {
    record(failed) {
      calls++;
      failures = failed ? failures + 1 : 0;
      return failures >= limit;
    },
    counts: () => ({ calls, failures, slow: 0 }),
    clear() {
      calls = 0;
      failures = 0;
    },
  };
}

function countGauge(size: number, rates: TripRates): TripGauge {
  const ring = outcomeRing(size);
  return {
    record(failed, slow) {
      ring.add(failed, slow);
      return shouldTrip(ring, rates);
    },
    counts: () => ({ calls: ring.calls, failures: ring.failures, slow: ring.slow }),
    clear: ring.clear,
  };
}

const CALLS = 0;
const FAILURES = 1;
const SLOW = 2;

/** Slots of a time window: one a second, at least 5, so that short windows still slide. Source: cockatiel SamplingBreaker. */
export function timeSlots(windowMs: number): { slots: number; slotMs: number } {
  const slots = Math.max(5, Math.ceil(windowMs / 1000));
  return { slots, slotMs: Math.ceil(windowMs / slots) };
}

function timeGauge(windowMs: number, rates: TripRates): TripGauge {
  const { slots, slotMs } = timeSlots(windowMs);
  const sums = rollingSums(3, slots * slotMs, slots);
  const counts = (nowMs: number): TripCounts => ({
    calls: sums.sum(CALLS, nowMs),
    failures: sums.sum(FAILURES, nowMs),
    slow: sums.sum(SLOW, nowMs),
  });
  return {
    record(failed, slow, nowMs) {
      sums.add(CALLS, 1, nowMs);
      if (failed) sums.add(FAILURES, 1, nowMs);
      if (slow) sums.add(SLOW, 1, nowMs);
      return shouldTrip(counts(nowMs), rates);
    },
    counts,
    clear: sums.clear,
  };
}
