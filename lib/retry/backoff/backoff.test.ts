import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Backoff, backoffMs, backoffMsMax, backoffMsMin, plainMs } from "@/lib/retry/backoff/backoff";
import { type Jitter, spread, spreadMsMax, spreadMsMin } from "@/lib/retry/backoff/jitter";
import { seeded } from "@/lib/retry/testing/seeded";

const NONE: Jitter = { kind: "none" };
const half = () => 0.5;

describe("plain delays", () => {
  it.each<[Backoff, number[]]>([
    [{ kind: "fixed", delayMs: 70, jitter: NONE }, [70, 70, 70, 70]],
    [{ kind: "linear", baseMs: 30, capMs: 100, jitter: NONE }, [30, 60, 90, 100]],
    [{ kind: "exponential", baseMs: 10, factor: 3, capMs: 200, jitter: NONE }, [10, 30, 90, 200]],
    [{ kind: "ladder", stepsMs: [5, 40, 7], jitter: NONE }, [5, 40, 7, 7]],
    [{ kind: "ladder", stepsMs: [], jitter: NONE }, [0, 0, 0, 0]],
  ])("%j", (backoff, expected) => {
    expect([1, 2, 3, 4].map((retry) => plainMs(backoff, retry))).toEqual(expected);
    expect([1, 2, 3, 4].map((retry) => backoffMs(backoff, retry, 999, half))).toEqual(expected);
  });

  it("stays at the cap at retry 1,000, and a base of 0 stays 0", () => {
    expect(plainMs({ kind: "exponential", baseMs: 1, factor: 100, capMs: 30_000, jitter: NONE }, 1_000)).toBe(30_000);
    expect(plainMs({ kind: "exponential", baseMs: 0, factor: 100, capMs: 30_000, jitter: NONE }, 1_000)).toBe(0);
  });
});

describe("jitter", () => {
  it.each<[Jitter, number[], number, number]>([
    [{ kind: "none" }, [80, 80, 80], 80, 80],
    [{ kind: "decorrelated" }, [80, 80, 80], 80, 80],
    [{ kind: "full" }, [0, 20, 80], 0, 80],
    [{ kind: "equal" }, [40, 50, 80], 40, 80],
    [{ kind: "fraction", fraction: 0.25 }, [60, 70, 100], 60, 100],
    [{ kind: "absolute", ms: 20 }, [60, 70, 100], 60, 100],
    [{ kind: "absolute", ms: 100 }, [0, 30, 180], 0, 180],
  ])("%j spreads 80 ms", (jitter, expected, min, max) => {
    expect([0, 0.25, 1].map((draw) => spread(80, jitter, () => draw))).toEqual(expected);
    expect(spreadMsMin(80, jitter)).toBe(min);
    expect(spreadMsMax(80, jitter)).toBe(max);
  });

  it("caps before it spreads, so that a capped delay is still spread", () => {
    const backoff: Backoff = { kind: "exponential", baseMs: 400, factor: 2, capMs: 500, jitter: { kind: "full" } };
    expect(backoffMs(backoff, 9, null, half)).toBe(250);
  });
});

describe("decorrelated jitter", () => {
  const backoff: Backoff = {
    kind: "exponential",
    baseMs: 100,
    factor: 7,
    capMs: 1_000,
    jitter: { kind: "decorrelated" },
  };

  it("moves between the base and three times the delay before, up to the cap", () => {
    expect(backoffMs(backoff, 1, null, () => 0)).toBe(100);
    expect(backoffMs(backoff, 1, null, half)).toBe(200);
    expect(backoffMs(backoff, 2, 200, half)).toBe(350);
    expect(backoffMs(backoff, 3, 900, () => 1)).toBe(1_000);
  });

  it("never falls below its base, whatever came before", () => {
    expect(backoffMs(backoff, 2, 1, () => 1)).toBe(100);
  });

  it("means nothing to a backoff without a base: the delay stays as it is", () => {
    const fixed: Backoff = { kind: "fixed", delayMs: 70, jitter: { kind: "decorrelated" } };
    expect([backoffMs(fixed, 2, 500, half), backoffMsMin(fixed, 2), backoffMsMax(fixed, 2)]).toEqual([70, 70, 70]);
  });

  it("is bounded by base * 3^retry and the cap", () => {
    expect([1, 2, 3].map((retry) => backoffMsMax(backoff, retry))).toEqual([300, 900, 1_000]);
    expect(backoffMsMin(backoff, 3)).toBe(100);
    expect(backoffMsMin({ ...backoff, capMs: 60 } as Backoff, 3)).toBe(60);
    expect(backoffMsMax({ ...backoff, baseMs: 0 } as Backoff, 1_000)).toBe(0);
  });
});

const delay = fc.double({ min: 0, max: 1e7, noNaN: true });
const jitter: fc.Arbitrary<Jitter> = fc.oneof(
  fc.constantFrom<Jitter>({ kind: "none" }, { kind: "full" }, { kind: "equal" }),
  fc.double({ min: 0, max: 1, noNaN: true }).map((fraction): Jitter => ({ kind: "fraction", fraction })),
);
const exponential = fc.record({
  kind: fc.constant("exponential" as const),
  baseMs: delay,
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  capMs: delay,
  jitter: fc.oneof(jitter, fc.constant<Jitter>({ kind: "decorrelated" })),
});
const backoffs: fc.Arbitrary<Backoff> = fc.oneof(
  exponential,
  fc.record({ kind: fc.constant("fixed" as const), delayMs: delay, jitter }),
  fc.record({ kind: fc.constant("linear" as const), baseMs: delay, capMs: delay, jitter }),
  fc.record({ kind: fc.constant("ladder" as const), stepsMs: fc.array(delay, { minLength: 1, maxLength: 9 }), jitter }),
);
const retry = fc.integer({ min: 1, max: 1_000 });

describe("every backoff", () => {
  it("answers a finite delay within its bounds, up to retry 1,000", () => {
    fc.assert(
      fc.property(backoffs, retry, delay, fc.integer(), (backoff, k, previousMs, seed) => {
        const reachable = Math.min(previousMs, k === 1 ? 0 : backoffMsMax(backoff, k - 1));
        const ms = backoffMs(backoff, k, k === 1 ? null : reachable, seeded(seed));
        expect(Number.isFinite(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(backoffMsMin(backoff, k) - 1e-6);
        expect(ms).toBeLessThanOrEqual(backoffMsMax(backoff, k) + 1e-6);
      }),
    );
  });

  it("never shrinks from one retry to the next, unless it is a ladder", () => {
    fc.assert(
      fc.property(exponential, retry, (backoff, k) => {
        expect(plainMs(backoff, k + 1)).toBeGreaterThanOrEqual(plainMs(backoff, k));
        expect(plainMs(backoff, k)).toBeLessThanOrEqual(backoff.capMs);
      }),
    );
  });
});
