import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dynamicTimeoutMs } from "@/lib/retry/timeout/dynamic";
import { latencyHistory } from "@/lib/retry/timeout/latency";
import { type Phase, phaseLimit } from "@/lib/retry/timeout/phases";

/** A bucket is 9 % wide: what is answered lies at or above the true value, by at most that. */
const WIDTH = 2 ** (1 / 8);

describe("a latency history", () => {
  it("knows nothing before the first sample", () => {
    const history = latencyHistory();
    expect(history.quantileMs(0.5)).toBeNull();
    expect(history.snapshot()).toEqual({ samples: 0, p50Ms: null, p95Ms: null, p99Ms: null });
  });

  it("answers each quantile from above, within a bucket", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.2, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (latencies, q) => {
          const history = latencyHistory();
          for (const ms of latencies) history.record(ms);
          const sorted = [...latencies].sort((a, b) => a - b);
          const exact = sorted[Math.max(0, Math.ceil(q * sorted.length - 1e-9) - 1)]!;
          expect(history.quantileMs(q)!).toBeGreaterThanOrEqual(exact * (1 - 1e-9));
          expect(history.quantileMs(q)!).toBeLessThanOrEqual(exact * WIDTH * (1 + 1e-9));
        },
      ),
    );
  });

  it("lets a higher quantile never be lower", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0, max: 1e5, noNaN: true }), fc.boolean()), { minLength: 1 }),
        (samples) => {
          const history = latencyHistory();
          for (const [ms, cut] of samples) cut ? history.recordCensored(ms) : history.record(ms);
          const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => history.quantileMs(q)!);
          expect(p95!).toBeGreaterThanOrEqual(p50!);
          expect(p99!).toBeGreaterThanOrEqual(p95!);
        },
      ),
    );
  });

  it("does not let timeouts pull a quantile down, nor hide them", () => {
    const history = latencyHistory();
    for (let call = 0; call < 90; call++) history.record(100);
    for (let call = 0; call < 10; call++) history.recordCensored(3_000);
    expect(history.quantileMs(0.5)!).toBeLessThan(110);
    expect(history.quantileMs(0.95)).toBe(Number.POSITIVE_INFINITY);
    expect(history.snapshot()).toEqual({ samples: 100, p50Ms: expect.any(Number), p95Ms: null, p99Ms: null });
  });

  it("lets a call that was cut early weigh only as long as it was seen", () => {
    const history = latencyHistory();
    // Kaplan-Meier: 10 at risk, 5 end at 10 ms; 4 are cut at 20 ms; the last ends at 40 ms.
    for (let call = 0; call < 5; call++) history.record(10);
    for (let call = 0; call < 4; call++) history.recordCensored(20);
    history.record(40);
    expect(history.quantileMs(0.5)!).toBeCloseTo(10, -1);
    expect(history.quantileMs(0.51)!).toBeGreaterThanOrEqual(40);
    expect(history.quantileMs(0.99)!).toBeLessThan(40 * WIDTH);
  });

  it("holds anything from nothing to ages in bounded buckets", () => {
    const history = latencyHistory();
    for (const ms of [0, -5, Number.NaN, 0.1]) history.record(ms);
    expect(history.quantileMs(0.99)).toBe(0.1);
    history.clear();
    history.record(1e12);
    expect(history.quantileMs(0.5)!).toBeGreaterThan(3_600_000);
    expect(Number.isFinite(history.quantileMs(0.5)!)).toBe(true);
    history.record(0.11);
    expect(history.quantileMs(0.4)!).toBeLessThan(0.12);
  });

  it("forgets slowly: what is new outweighs what is old", () => {
    const history = latencyHistory(100);
    for (let call = 0; call < 100; call++) history.record(10);
    expect(history.samples).toBe(100);
    history.record(1_000);
    expect(history.samples).toBe(51);
    for (let call = 0; call < 300; call++) history.record(1_000);
    expect(history.samples).toBeLessThanOrEqual(100);
    expect(history.quantileMs(0.5)!).toBeGreaterThan(999);
    history.clear();
    for (let call = 0; call < 100; call++) history.recordCensored(1_000);
    history.record(10);
    expect(history.samples).toBe(51);
    for (let call = 0; call < 500; call++) history.recordCensored(1_000);
    expect(history.samples).toBeLessThanOrEqual(100);
  });

  it("is empty after clearing", () => {
    const history = latencyHistory();
    history.record(10);
    history.recordCensored(10);
    history.clear();
    expect([history.samples, history.quantileMs(0.5)]).toEqual([0, null]);
    for (let call = 0; call < 5; call++) history.recordCensored(1);
    history.clear();
    history.record(10);
    history.record(10);
    expect(history.quantileMs(0.99)!).toBeLessThan(11);
  });
});

describe("a dynamic timeout", () => {
  const policy = { quantile: 0.95, factor: 3, msMin: 100, samplesMin: 10 };

  function timeoutOf(count: number, ms: number, cut = 0): number {
    const history = latencyHistory();
    for (let call = 0; call < count; call++) history.record(ms);
    for (let call = 0; call < cut; call++) history.recordCensored(ms);
    return dynamicTimeoutMs(policy, history, 3_000);
  }

  it("uses the whole time until there are enough samples", () => {
    expect(timeoutOf(9, 50)).toBe(3_000);
    expect(timeoutOf(10, 50)).toBeLessThan(3 * 50 * WIDTH + 1e-9);
    expect(timeoutOf(10, 50)).toBeGreaterThanOrEqual(150);
    expect(dynamicTimeoutMs({ ...policy, samplesMin: 0 }, latencyHistory(), 3_000)).toBe(3_000);
  });

  it("is clamped on both sides", () => {
    expect(timeoutOf(10, 1)).toBe(100);
    expect(timeoutOf(10, 2_000)).toBe(3_000);
  });

  it("opens up when the quantile lies among the timeouts", () => {
    expect(timeoutOf(18, 50, 2)).toBe(3_000);
  });
});

describe("the limit of a phase", () => {
  const phases = { connectMs: 200, firstByteMs: 900 };

  it.each<[Phase, number, string]>([
    ["connecting", 200, "TIMEOUT_CONNECT"],
    ["connected", 900, "TIMEOUT_FIRST_BYTE"],
    ["answering", 3_000, "TIMEOUT_ATTEMPT"],
  ])("%s ends after %d ms", (phase, ms, code) => {
    expect(phaseLimit(phase, phases, { wholeMs: 3_000 })).toEqual({ ms, code });
    expect(phaseLimit(phase, null, { wholeMs: 3_000 })).toEqual({ ms: 3_000, code: "TIMEOUT_ATTEMPT" });
  });

  it("is the attempt's own when that is shorter", () => {
    expect(phaseLimit("connecting", phases, { wholeMs: 150 })).toEqual({ ms: 150, code: "TIMEOUT_ATTEMPT" });
    expect(phaseLimit("connecting", phases, { wholeMs: 200 })).toEqual({ ms: 200, code: "TIMEOUT_ATTEMPT" });
    expect(phaseLimit("connected", phases, { wholeMs: 800 })).toEqual({ ms: 800, code: "TIMEOUT_ATTEMPT" });
  });
});
