import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  newTokenBucket,
  refilled,
  type TokenBucketPolicy,
  takeTokens,
  withPolicy,
} from "@/lib/retry/rate/token-bucket";
import { carriedOver, EMPTY_WINDOW, takeFixed, takeSliding, windowAt } from "@/lib/retry/rate/window";

const POLICY: TokenBucketPolicy = { ratePerSecond: 10, capacity: 5, warmUpMs: 0 };

const arrival = fc.record({ advanceMs: fc.integer({ min: 0, max: 900 }), cost: fc.integer({ min: 0, max: 5 }) });
const arrivals = fc.array(arrival, { maxLength: 120 });

/** What was granted within any window of the history, against a bound. */
function expectConserved(grants: { atMs: number; cost: number }[], bound: (spanMs: number) => number): void {
  for (let from = 0; from < grants.length; from++) {
    let total = 0;
    for (let to = from; to < grants.length; to++) {
      total += grants[to]!.cost;
      expect(total).toBeLessThanOrEqual(bound(grants[to]!.atMs - grants[from]!.atMs) + 1e-6);
    }
  }
}

describe("a token bucket", () => {
  it("starts full or as full as told, and refills up to its capacity", () => {
    expect(newTokenBucket(POLICY, 100)).toEqual({ tokens: 5, atMs: 100, startedMs: 100 });
    const state = newTokenBucket(POLICY, 0, 1);
    expect(refilled(POLICY, state, 200).tokens).toBe(3);
    expect(refilled(POLICY, state, 1e9)).toEqual({ tokens: 5, atMs: 1e9, startedMs: 0 });
  });

  it("takes all of a cost or nothing, and says how long to wait", () => {
    const first = takeTokens(POLICY, newTokenBucket(POLICY, 0), 3, 0);
    expect(first).toEqual({ state: { tokens: 2, atMs: 0, startedMs: 0 }, taken: { granted: true, waitMs: 0 } });
    const second = takeTokens(POLICY, first.state, 4, 50);
    expect(second.taken).toEqual({ granted: false, waitMs: 150 });
    expect(second.state.tokens).toBe(2.5);
    expect(takeTokens(POLICY, second.state, 4, 200).taken.granted).toBe(true);
    expect(takeTokens(POLICY, second.state, 0, 50).taken.granted).toBe(true);
  });

  it.each([-1, 5.01, Number.NaN, Number.POSITIVE_INFINITY])("refuses a cost of %d", (cost) => {
    expect(() => takeTokens(POLICY, newTokenBucket(POLICY, 0), cost, 0)).toThrow(RangeError);
    expect(() => takeTokens(POLICY, newTokenBucket(POLICY, 0), cost, 0)).toThrow(`cost ${cost}`);
  });

  it("never grants at a rate of 0 once it is empty", () => {
    const still = { ...POLICY, ratePerSecond: 0 };
    expect(takeTokens(still, newTokenBucket(still, 0, 0), 1, 1e9).taken).toEqual({
      granted: false,
      waitMs: Number.POSITIVE_INFINITY,
    });
  });

  it("mints nothing when the clock goes backwards", () => {
    const state = refilled(POLICY, newTokenBucket(POLICY, 0, 0), 100);
    const back = refilled(POLICY, state, 0);
    expect(back).toEqual(state);
    expect(refilled(POLICY, back, 100)).toEqual(state);
  });

  it("keeps what it holds under another policy, within the new capacity", () => {
    expect(withPolicy({ ...POLICY, capacity: 3 }, newTokenBucket(POLICY, 0)).tokens).toBe(3);
    expect(withPolicy({ ...POLICY, capacity: 9 }, newTokenBucket(POLICY, 0)).tokens).toBe(5);
  });

  it("issues in any window at most rate * t + capacity, warm or cold", () => {
    fc.assert(
      fc.property(arrivals, fc.constantFrom(0, 4_000), (events, warmUpMs) => {
        const policy = { ...POLICY, warmUpMs };
        let state = newTokenBucket(policy, 0);
        let atMs = 0;
        const grants = [];
        for (const { advanceMs, cost } of events) {
          atMs += advanceMs;
          const { state: next, taken } = takeTokens(policy, state, cost, atMs);
          expect(next.tokens).toBeGreaterThanOrEqual(0);
          expect(next.tokens).toBeLessThanOrEqual(policy.capacity);
          if (taken.granted) grants.push({ atMs, cost });
          state = next;
        }
        expectConserved(grants, (spanMs) => (policy.ratePerSecond * spanMs) / 1000 + policy.capacity);
      }),
    );
  });

  it("grants after exactly the wait it answered, and not before", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 6_000 }),
        fc.double({ min: 0, max: 4.9, noNaN: true }),
        fc.constantFrom(0, 3_000),
        (atMs, tokens, warmUpMs) => {
          const policy = { ...POLICY, warmUpMs };
          const state = { tokens, atMs, startedMs: 0 };
          const { taken, state: kept } = takeTokens(policy, state, 5, atMs);
          if (taken.granted) return;
          expect(takeTokens(policy, kept, 5, atMs + taken.waitMs).taken.granted).toBe(true);
          if (taken.waitMs > 0.01)
            expect(takeTokens(policy, kept, 5, atMs + taken.waitMs - 0.01).taken.granted).toBe(false);
        },
      ),
    );
  });

  it("warms up from its own start, whenever that was", () => {
    const policy = { ratePerSecond: 30, capacity: 1_000, warmUpMs: 6_000 };
    const state = newTokenBucket(policy, 50_000, 0);
    expect(refilled(policy, state, 56_000).tokens).toBeCloseTo(120, 9);
    const later = refilled(policy, state, 53_000);
    expect(refilled(policy, later, 56_000).tokens).toBeCloseTo(120, 9);
    const { taken } = takeTokens(policy, later, later.tokens + 1, 53_000);
    expect(takeTokens(policy, later, later.tokens + 1, 53_000 + taken.waitMs).taken.granted).toBe(true);
    expect(taken.waitMs).toBeLessThan(51);
  });

  it("warms up from a third of its rate to the whole", () => {
    const policy = { ratePerSecond: 30, capacity: 1_000, warmUpMs: 6_000 };
    const minted = (fromMs: number, toMs: number) =>
      refilled(policy, { tokens: 0, atMs: fromMs, startedMs: 0 }, toMs).tokens;
    expect(minted(0, 100) / 0.1).toBeCloseTo(10, 0);
    expect(minted(2_950, 3_050) / 0.1).toBeCloseTo(20, 5);
    expect(minted(6_000, 7_000)).toBeCloseTo(30, 9);
    expect(minted(0, 6_000)).toBeCloseTo(120, 9);
    expect(minted(5_000, 7_000)).toBeCloseTo(28.333333 + 30, 5);
  });
});

describe("a window of the grid", () => {
  const policy = { limit: 4, windowMs: 1_000 };

  it("remembers only the window right before", () => {
    const state = { windowStartMs: 2_000, current: 3, previous: 1 };
    expect(windowAt(policy, state, 2_999)).toBe(state);
    expect(windowAt(policy, state, 3_999)).toEqual({ windowStartMs: 3_000, current: 0, previous: 3 });
    expect(windowAt(policy, state, 4_000)).toEqual({ windowStartMs: 4_000, current: 0, previous: 0 });
    expect(windowAt(policy, state, 0)).toBe(state);
  });
});

describe("a sliding window", () => {
  const policy = { limit: 10, windowMs: 1_000 };
  const state = { windowStartMs: 1_000, current: 2, previous: 10 };

  it("weighs the previous window in whole numbers", () => {
    expect([1_000, 1_001, 1_500, 1_900, 1_999, 5_000, 0].map((nowMs) => carriedOver(policy, state, nowMs))).toEqual([
      10, 9, 5, 1, 0, 0, 10,
    ]);
  });

  it("takes what fits beside that weight, and nothing above the limit", () => {
    expect(takeSliding(policy, state, 3, 1_500)).toEqual({ state: { ...state, current: 5 }, granted: true, waitMs: 0 });
    expect(takeSliding(policy, state, 4, 1_500).granted).toBe(false);
    expect(takeSliding(policy, EMPTY_WINDOW, 10, 5)).toMatchObject({ granted: true });
    expect(takeSliding(policy, EMPTY_WINDOW, 11, 0)).toMatchObject({
      granted: false,
      waitMs: Number.POSITIVE_INFINITY,
    });
  });

  it("grants after exactly the wait it answered, in whole milliseconds, and not a millisecond before", () => {
    const counts = fc.integer({ min: 0, max: 10 });
    fc.assert(
      fc.property(
        counts,
        counts,
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 0, max: 999 }),
        (previous, current, cost, offset) => {
          const nowMs = 1_000 + offset;
          const { granted, waitMs } = takeSliding(policy, { windowStartMs: 1_000, current, previous }, cost, nowMs);
          if (granted) return;
          const again = (atMs: number) =>
            takeSliding(policy, { windowStartMs: 1_000, current, previous }, cost, atMs).granted;
          expect(again(nowMs + waitMs)).toBe(true);
          expect(again(nowMs + waitMs - 1)).toBe(false);
        },
      ),
    );
  });
});

describe("a fixed window", () => {
  const policy = { limit: 3, windowMs: 1_000 };

  it("grants its limit in each window of the grid and forgets the one before", () => {
    let state = EMPTY_WINDOW;
    const take = (nowMs: number, cost = 1) => {
      const taken = takeFixed(policy, state, cost, nowMs);
      state = taken.state;
      return [taken.granted, taken.waitMs];
    };
    expect([take(900), take(950), take(999), take(999)]).toEqual([
      [true, 0],
      [true, 0],
      [true, 0],
      [false, 1],
    ]);
    // Twice the limit within 100 ms: the price of a grid.
    expect([take(1_000, 3), take(1_001)]).toEqual([
      [true, 0],
      [false, 999],
    ]);
  });

  it("never grants a cost above its limit", () => {
    expect(takeFixed(policy, EMPTY_WINDOW, 4, 0)).toMatchObject({ granted: false, waitMs: Number.POSITIVE_INFINITY });
  });
});
