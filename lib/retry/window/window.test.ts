import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outcomeRing } from "@/lib/retry/window/outcome-ring";
import { rollingSums } from "@/lib/retry/window/rolling-sums";

describe("rolling sums", () => {
  it("keeps a value for the window and lets it go slot by slot", () => {
    const sums = rollingSums(2, 1_000, 5);
    sums.add(0, 3, 0);
    sums.add(1, 10, 0);
    sums.add(0, 4, 199);
    sums.add(0, 5, 200);
    expect(sums.sum(0, 999)).toBe(12);
    expect(sums.sum(0, 1_000)).toBe(5);
    expect(sums.sum(1, 1_000)).toBe(0);
    expect(sums.sum(0, 1_200)).toBe(0);
  });

  it("is empty after a jump of many windows, and after clearing", () => {
    const sums = rollingSums(1, 1_000, 5);
    sums.add(0, 3, 100);
    expect(sums.sum(0, 1e12)).toBe(0);
    sums.add(0, 3, 1e12);
    sums.clear();
    expect(sums.sum(0, 1e12)).toBe(0);
    sums.add(0, 2, 1e12);
    expect(sums.sum(0, 1e12 + 200)).toBe(2);
  });

  it("counts what comes with an older time as new", () => {
    const sums = rollingSums(1, 1_000, 5);
    sums.add(0, 1, 5_000);
    sums.add(0, 1, 100);
    expect(sums.sum(0, 5_900)).toBe(2);
    expect(sums.sum(0, 6_000)).toBe(0);
  });

  it("works on a clock whose origin lies in the future", () => {
    const sums = rollingSums(1, 1_000, 5);
    sums.add(0, 7, -1_500);
    expect(sums.sum(0, -1_000)).toBe(7);
    expect(sums.sum(0, -500)).toBe(0);
  });

  it("agrees with a plain list of events, whatever the order of adding and reading", () => {
    const step = fc.record({ advanceMs: fc.integer({ min: 0, max: 3_000 }), amount: fc.integer({ min: -5, max: 5 }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const sums = rollingSums(1, 2_000, 10);
        const events: { slot: number; amount: number }[] = [];
        let nowMs = 0;
        for (const { advanceMs, amount } of steps) {
          nowMs += advanceMs;
          const slot = Math.floor(nowMs / 200);
          sums.add(0, amount, nowMs);
          events.push({ slot, amount });
          const expected = events
            .filter((event) => event.slot > slot - 10)
            .reduce((sum, event) => sum + event.amount, 0);
          expect(sums.sum(0, nowMs)).toBe(expected);
        }
      }),
    );
  });
});

describe("an outcome ring", () => {
  it("agrees with the last results of a plain list", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 7 }), fc.array(fc.tuple(fc.boolean(), fc.boolean())), (size, results) => {
        const ring = outcomeRing(size);
        results.forEach(([failed, slow], index) => {
          ring.add(failed, slow);
          const last = results.slice(Math.max(0, index + 1 - size), index + 1);
          expect(ring.calls).toBe(last.length);
          expect(ring.failures).toBe(last.filter(([failure]) => failure).length);
          expect(ring.slow).toBe(last.filter(([, slowness]) => slowness).length);
        });
        ring.clear();
        expect([ring.calls, ring.failures, ring.slow]).toEqual([0, 0, 0]);
        ring.add(false, true);
        expect([ring.calls, ring.failures, ring.slow]).toEqual([1, 0, 1]);
      }),
    );
  });
});
