import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs } from "@/lib/retry/backoff/backoff";
import {
  backoffTotalMsMax,
  expectedAttempts,
  fitsDeadline,
  loadFactor,
  schedule,
  successProbability,
  type Timing,
  upperBoundMs,
} from "@/lib/retry/bounds";
import { seeded } from "@/lib/retry/testing/seeded";

const TIMING: Timing = {
  maxAttempts: 4,
  attemptTimeoutMs: 100,
  deadlineMs: 1_180,
  marginMs: 30,
  backoff: { kind: "exponential", baseMs: 50, factor: 2, capMs: 400, jitter: { kind: "equal" } },
};

describe("the upper bound", () => {
  it("is attempts times timeout plus the longest delay before each retry", () => {
    expect(backoffTotalMsMax(TIMING)).toBe(50 + 100 + 200);
    expect(upperBoundMs(TIMING)).toBe(400 + 350);
    expect(upperBoundMs({ ...TIMING, maxAttempts: 1 })).toBe(100);
  });

  it("takes the longer of the two backoffs at each retry", () => {
    const throttledBackoff = { kind: "fixed", delayMs: 120, jitter: { kind: "none" } } as const;
    expect(backoffTotalMsMax({ ...TIMING, throttledBackoff })).toBe(120 + 120 + 200);
    expect(backoffTotalMsMax({ ...TIMING, throttledBackoff: null })).toBe(350);
  });

  it("counts a symmetric jitter at its top", () => {
    const backoff = { kind: "fixed", delayMs: 100, jitter: { kind: "fraction", fraction: 0.5 } } as const;
    expect(backoffTotalMsMax({ ...TIMING, backoff })).toBe(450);
  });

  it("fits when it is exactly the deadline less the margin", () => {
    expect(fitsDeadline({ ...TIMING, deadlineMs: 780 })).toBe(true);
    expect(fitsDeadline({ ...TIMING, deadlineMs: 779 })).toBe(false);
    expect(fitsDeadline({ ...TIMING, deadlineMs: 780, marginMs: 31 })).toBe(false);
  });

  it("is never exceeded by what the backoffs really draw", () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 30 }),
        fc.constantFrom("full", "equal", "decorrelated"),
        (seed, maxAttempts, kind) => {
          const timing = { ...TIMING, maxAttempts, backoff: { ...TIMING.backoff, jitter: { kind } } } as Timing;
          const random = seeded(seed);
          let totalMs = 0;
          let previousMs: number | null = null;
          for (let retry = 1; retry < maxAttempts; retry++) {
            previousMs = backoffMs(timing.backoff, retry, previousMs, random);
            totalMs += previousMs;
          }
          expect(totalMs).toBeLessThanOrEqual(backoffTotalMsMax(timing) + 1e-6);
        },
      ),
    );
  });
});

describe("the schedule", () => {
  it("shows when each attempt may start and must have ended", () => {
    expect(schedule({ ...TIMING, maxAttempts: 3 })).toEqual([
      { attempt: 1, delayMsMin: 0, delayMsMax: 0, startMsMin: 0, startMsMax: 0, endMsMax: 100 },
      { attempt: 2, delayMsMin: 25, delayMsMax: 50, startMsMin: 25, startMsMax: 150, endMsMax: 250 },
      { attempt: 3, delayMsMin: 50, delayMsMax: 100, startMsMin: 75, startMsMax: 350, endMsMax: 450 },
    ]);
  });

  it("ends at the upper bound", () => {
    expect(schedule(TIMING).at(-1)?.endMsMax).toBe(upperBoundMs(TIMING));
  });
});

describe("probabilities", () => {
  it("agree with the closed form of the geometric sum", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.99, noNaN: true }), fc.integer({ min: 1, max: 50 }), (p, attempts) => {
        expect(expectedAttempts(p, attempts)).toBeCloseTo((1 - p ** attempts) / (1 - p), 6);
        expect(successProbability(p, attempts)).toBeCloseTo(1 - p ** attempts, 12);
      }),
    );
  });

  it("bound the load by the attempts or by the budget, whichever is less", () => {
    expect(loadFactor(5, null)).toBe(5);
    expect(loadFactor(5, 0.1)).toBe(1.1);
    expect(loadFactor(2, 7)).toBe(2);
  });
});
