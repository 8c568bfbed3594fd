import { type Environment, environmentOf } from "@/lib/kit/retry/environment";
import { above, between, checkFields, type Fields, integer } from "@/lib/retry/check-fields";
import { PolicyError } from "@/lib/retry/policy-error";
import { Throttle } from "@/lib/retry/rate/throttle";
import { EMPTY_WINDOW, takeFixed, takeSliding, type WindowPolicy } from "@/lib/retry/rate/window";

export type TokenBucketOptions = {
  ratePerSecond: number;
  /** Most tokens it holds: the burst. */
  capacity: number;
  /** Time over which the rate rises from a third to its full value. Default 0: at once. */
  warmUpMs?: number;
  /** Calls that may wait for a token; one more is rejected with QueueFullError. Default: no bound. */
  queueMax?: number;
};

export type LeakyBucketOptions = Pick<TokenBucketOptions, "ratePerSecond" | "queueMax">;

const RATE = above(0, 1e6);
const QUEUE = integer(0, 1e6);

/** Paces calls of one process: in any window of t seconds at most ratePerSecond * t + capacity tokens are given out. */
export function createTokenBucket(options: TokenBucketOptions, environment: Environment = {}): Throttle {
  const { ratePerSecond, capacity, warmUpMs = 0, queueMax } = options;
  check(
    { ratePerSecond, capacity, warmUpMs, ...(queueMax !== undefined && { queueMax }) },
    {
      ratePerSecond: RATE,
      capacity: between(1, 1e6),
      warmUpMs: between(0, 86_400_000),
      ...(queueMax !== undefined && { queueMax: QUEUE }),
    },
  );
  return new Throttle({ ratePerSecond, capacity, warmUpMs }, environmentOf(environment).clock, queueMax);
}

/** Lets calls out one by one, 1,000 / ratePerSecond ms apart: a token bucket of capacity 1, whose queue is the bucket. */
export function createLeakyBucket(options: LeakyBucketOptions, environment: Environment = {}): Throttle {
  return createTokenBucket({ ...options, capacity: 1 }, environment);
}

/** `waitMs` is 0 when granted, Infinity when the cost is above the limit. */
export type WindowAnswer = { granted: boolean; waitMs: number };

export type SlidingWindow = { tryTake(cost?: number): WindowAnswer };
export type FixedWindow = SlidingWindow;

/** Refuses more than `limit` in any window of `windowMs`, by a counter that slides. It never waits. */
export function createSlidingWindow(policy: WindowPolicy, environment: Environment = {}): SlidingWindow {
  return windowBy(takeSliding, policy, environment);
}

/**
 * Refuses more than `limit` in each window of `windowMs` on a fixed grid, as a provider's quota by the minute counts. Across the
 * border of two windows it lets up to twice the limit pass. It never waits.
 */
export function createFixedWindow(policy: WindowPolicy, environment: Environment = {}): FixedWindow {
  return windowBy(takeFixed, policy, environment);
}

function windowBy(take: typeof takeSliding, policy: WindowPolicy, environment: Environment): SlidingWindow {
  check(policy, { limit: integer(1, 1e9), windowMs: integer(1, 86_400_000) });
  const { clock } = environmentOf(environment);
  let window = EMPTY_WINDOW;
  return {
    tryTake(cost = 1) {
      const { state, granted, waitMs } = take(policy, window, cost, clock.nowMs());
      window = state;
      return { granted, waitMs };
    },
  };
}

function check(options: object, fields: Fields): void {
  const violations = checkFields(options, fields);
  if (violations.length > 0) throw new PolicyError(violations);
}
