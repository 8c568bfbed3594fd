/**
 * Concurrency limits that find themselves. Both are pure: feed each finished call, use the answer as the bulkhead's
 * permits. Source: Netflix concurrency-limits, AIMDLimit and VegasLimit.
 */
export type ConcurrencySample = {
  /** Round trip of the finished call. */
  rttMs: number;
  /** Calls that were under way when it began, itself included. */
  inFlight: number;
  /** It timed out or was rejected for overload. */
  dropped: boolean;
};

export type AimdPolicy = { limitMin: number; limitMax: number; backoffRatio: number };

/** Additive increase by one while the limit is really used, multiplicative decrease on a drop. */
export function aimd(policy: AimdPolicy, limit: number, { inFlight, dropped }: ConcurrencySample): number {
  const next = dropped ? Math.floor(limit * policy.backoffRatio) : inFlight * 2 >= limit ? limit + 1 : limit;
  return clamp(next, policy.limitMin, policy.limitMax);
}

export type VegasPolicy = { limitMax: number; alpha: number; beta: number };

/** `baseMs` is the fastest round trip seen: what the target takes without a queue. null before the first. */
export type VegasState = { limit: number; baseMs: number | null };

/**
 * Estimates the queue at the target from how much slower than its best it answers:
 * queue = ceil(limit * (1 - base / rtt)). Grows while the queue is short, shrinks when it is long.
 */
export function vegas(policy: VegasPolicy, state: VegasState, sample: ConcurrencySample): VegasState {
  const { limit, baseMs } = state;
  if (baseMs === null || sample.rttMs < baseMs) return { limit, baseMs: sample.rttMs };
  return { limit: clamp(vegasLimit(policy, limit, baseMs, sample), 1, policy.limitMax), baseMs };
}

function vegasLimit(policy: VegasPolicy, limit: number, baseMs: number, sample: ConcurrencySample): number {
  const step = Math.max(1, Math.log10(limit));
  if (sample.dropped) return limit - step;
  // An unused limit says nothing about the target.
  if (sample.inFlight * 2 < limit) return limit;
  const queue = Math.ceil(limit * (1 - baseMs / sample.rttMs));
  if (queue <= step) return limit + policy.beta;
  if (queue < policy.alpha) return limit + step;
  return queue > policy.beta ? limit - step : limit;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
