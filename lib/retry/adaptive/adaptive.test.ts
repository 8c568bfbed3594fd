import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rejectionProbability, rejectionProbabilityAbove } from "@/lib/retry/adaptive/client-throttle";
import { aimd, type VegasState, vegas } from "@/lib/retry/adaptive/concurrency";
import { afterResponse, newCubicRate, recoverySeconds } from "@/lib/retry/adaptive/cubic-rate";

describe("a cubic rate", () => {
  it("begins at its minimum, on the half-second grid", () => {
    expect(newCubicRate(1_700)).toEqual({
      measuredPerSecond: 0,
      ratePerSecond: 0.5,
      peakPerSecond: 0,
      throttledAtMs: 1_700,
      throttledOnce: false,
      requests: 0,
      bucketMs: 1_500,
    });
  });

  it("cuts to 70 % of what was measured first, and later of the lower of measured and allowed", () => {
    const busy = { ...newCubicRate(0), measuredPerSecond: 20, ratePerSecond: 8, bucketMs: 1_000 };
    expect(afterResponse(busy, true, 1_100)).toMatchObject({
      ratePerSecond: 14,
      peakPerSecond: 20,
      throttledAtMs: 1_100,
    });
    expect(afterResponse({ ...busy, throttledOnce: true }, true, 1_100)).toMatchObject({
      ratePerSecond: expect.closeTo(5.6, 9),
      peakPerSecond: 8,
    });
    expect(afterResponse({ ...busy, throttledOnce: true, ratePerSecond: 90 }, true, 1_100)).toMatchObject({
      peakPerSecond: 20,
    });
  });

  it("is back at its peak after the recovery time, and beyond it later", () => {
    const cut = afterResponse({ ...newCubicRate(0), measuredPerSecond: 20, bucketMs: 0 }, true, 0);
    const steady = { ...cut, measuredPerSecond: 1e6, bucketMs: 1e9 };
    const at = (ms: number) => afterResponse(steady, false, ms).ratePerSecond;
    const backMs = recoverySeconds(20) * 1_000;
    expect(at(0)).toBeCloseTo(14, 9);
    expect(at(backMs)).toBeCloseTo(20, 9);
    expect(at(backMs + 1_000)).toBeCloseTo(20.4, 9);
  });

  it("never allows more than twice what is measured, nor less than its minimum", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 2_000 }))), (responses) => {
        let rate = newCubicRate(0);
        let nowMs = 0;
        for (const [throttled, advanceMs] of responses) {
          nowMs += advanceMs;
          rate = afterResponse(rate, throttled, nowMs);
          expect(rate.ratePerSecond).toBeGreaterThanOrEqual(0.5);
          expect(rate.ratePerSecond).toBeLessThanOrEqual(Math.max(0.5, 2 * rate.measuredPerSecond));
        }
      }),
    );
  });
});

describe("client-side rejection", () => {
  it("begins when less than one in k is accepted", () => {
    expect(rejectionProbability(100, 50, 2)).toBe(0);
    expect(rejectionProbability(101, 50, 2)).toBeCloseTo(1 / 102, 12);
    expect(rejectionProbability(0, 0, 2)).toBe(0);
    expect(rejectionProbability(9, 20, 2)).toBe(0);
  });

  it("keeps a share for probing", () => {
    expect(rejectionProbabilityAbove(1e6, 0, { successMin: 0.9, rejectionMax: 0.8 })).toBe(0.8);
    expect(rejectionProbabilityAbove(100, 45, { successMin: 0.9, rejectionMax: 0.8 })).toBeCloseTo(50 / 101, 12);
  });
});

describe("AIMD", () => {
  const policy = { limitMin: 2, limitMax: 30, backoffRatio: 0.5 };
  const sample = { rttMs: 1, inFlight: 5, dropped: false };

  it.each([
    [10, sample, 11],
    [10, { ...sample, inFlight: 4 }, 10],
    [10, { ...sample, dropped: true }, 5],
    [11, { ...sample, dropped: true }, 5],
    [3, { ...sample, dropped: true }, 2],
    [30, { ...sample, inFlight: 30 }, 30],
  ])("%d becomes %j -> %d", (limit, seen, expected) => {
    expect(aimd(policy, limit, seen)).toBe(expected);
  });
});

describe("Vegas", () => {
  const policy = { limitMax: 150, alpha: 3, beta: 6 };
  const sample = { rttMs: 10, inFlight: 100, dropped: false };
  const state: VegasState = { limit: 100, baseMs: 10 };

  it.each([
    ["learns its base first", { limit: 100, baseMs: null }, sample, { limit: 100, baseMs: 10 }],
    ["learns a faster base", state, { ...sample, rttMs: 9 }, { limit: 100, baseMs: 9 }],
    ["grows by beta without a queue", state, sample, { limit: 106, baseMs: 10 }],
    ["grows by beta up to a queue of log10", state, { ...sample, rttMs: 10.2 }, { limit: 106, baseMs: 10 }],
    ["holds at alpha", state, { ...sample, rttMs: 10.3 }, { limit: 100, baseMs: 10 }],
    ["holds at beta", state, { ...sample, rttMs: 10.63 }, { limit: 100, baseMs: 10 }],
    ["shrinks by log10 above beta", state, { ...sample, rttMs: 11 }, { limit: 98, baseMs: 10 }],
    ["shrinks by log10 on a drop", state, { ...sample, dropped: true }, { limit: 98, baseMs: 10 }],
    ["learns nothing from an unused limit", state, { ...sample, inFlight: 49 }, state],
    ["learns from one that is half used", state, { ...sample, inFlight: 50 }, { limit: 106, baseMs: 10 }],
    ["is capped", { limit: 148, baseMs: 10 }, sample, { limit: 150, baseMs: 10 }],
    ["never falls below one", { limit: 1, baseMs: 10 }, { ...sample, dropped: true }, { limit: 1, baseMs: 10 }],
  ])("%s", (_, before, seen, expected) => {
    expect(vegas(policy, before, seen)).toEqual(expected);
  });

  it("grows by log10 with a queue between that and alpha", () => {
    const next = vegas({ ...policy, alpha: 5 }, state, { ...sample, rttMs: 10.3 });
    expect(next).toEqual({ limit: 102, baseMs: 10 });
  });
});
