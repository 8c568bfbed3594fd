import { newTokenBucket, type TokenBucketState, takeTokens } from "@/lib/retry/rate/token-bucket";
import { takeSliding } from "@/lib/retry/rate/window";
import { type Case, type Cases, type Cell, type Check, eachRow } from "@/lib/retry/testing/vectors/vector";
import { outcomeRing } from "@/lib/retry/window/outcome-ring";

const continuous: Case = (vector) => {
  const policy = { ratePerSecond: vector.params.ratePerS, capacity: vector.params.capacity, warmUpMs: 0 };
  let state: TokenBucketState = newTokenBucket(policy, 0);
  return eachRow(vector, ([nowMs, cost, granted, waitMs]) => {
    if (waitMs === "never")
      return { actual: refuses(() => takeTokens(policy, state, Number(cost), Number(nowMs))), expected: true };
    const result = takeTokens(policy, state, Number(cost), Number(nowMs));
    state = result.state;
    return {
      actual: [result.taken.granted, Math.round(result.taken.waitMs * 1e6) / 1e6],
      expected: [granted, waitMs],
    };
  });
};

function refuses(take: () => unknown): boolean {
  try {
    take();
    return false;
  } catch (error) {
    return error instanceof RangeError;
  }
}

const startsEmpty: Case = (vector) => {
  const policy = { ratePerSecond: vector.params.ratePerS, capacity: vector.params.ratePerS, warmUpMs: 0 };
  let state = newTokenBucket(policy, 0, vector.params.startTokens);
  return eachRow(vector, ([seconds, amount, granted]) => {
    const result = takeTokens(policy, state, Number(amount), Number(seconds) * 1000);
    state = result.state;
    return { actual: result.taken.granted, expected: granted };
  });
};

/** Row 4 rests on a rounding error of its source: see not-applicable. */
const slidingCounter: Case = (vector) =>
  eachRow(
    { ...vector, rows: vector.rows.filter((_: Cell[], index: number) => index !== 4) },
    ([previous, current, offsetMs, allowed]) => {
      const { tokens, windowMs } = vector.params;
      const state = { windowStartMs: windowMs, current: Number(current), previous: Number(previous) };
      return {
        actual: takeSliding({ limit: tokens, windowMs }, state, 1, windowMs + Number(offsetMs)).granted,
        expected: allowed,
      };
    },
  );

export const RATE_CASES: Cases = {
  "token-bucket-035": startsEmpty,
  "token-bucket-098": continuous,
  "window-099": slidingCounter,
  "window-124": ({ params, results, failureRatePct }) => {
    const ring = outcomeRing(params.size);
    return [...results].map((result, index): Check => {
      ring.add(result === "F", false);
      const actual = (ring.failures / ring.calls) * 100;
      return { what: `after ${index + 1}`, actual, expected: failureRatePct[index], tolerance: 1e-5 };
    });
  },
  // The average duration of the row is not a thing we keep: see not-applicable.
  "window-126": (vector) =>
    eachRow(vector, ([durations, , slowRatePct]) => {
      const ring = outcomeRing(5);
      for (const ms of durations as unknown as number[]) ring.add(false, ms >= 4_000);
      return { actual: (ring.slow / ring.calls) * 100, expected: slowRatePct };
    }),
};
