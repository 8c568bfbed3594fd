/**
 * A sending rate that backs off when the target throttles and grows back along a cubic curve: fast while far below
 * the rate at which it was last throttled, slowly near it, then probing beyond.
 * Source: AWS SDK adaptive retry mode; Ha, Rhee and Xu, "CUBIC", 2008.
 */
export type CubicRate = {
  /** Requests per second that were measured, smoothed. */
  measuredPerSecond: number;
  /** Requests per second that may be sent. */
  ratePerSecond: number;
  /** Rate at the last throttling, and when that was. */
  peakPerSecond: number;
  throttledAtMs: number;
  throttledOnce: boolean;
  /** Requests since the half-second that began at `bucketMs`. */
  requests: number;
  bucketMs: number;
};

const BETA = 0.7;
const SCALE = 0.4;
const SMOOTHING = 0.8;
const RATE_MIN = 0.5;
const BUCKET_MS = 500;

export function newCubicRate(nowMs: number): CubicRate {
  return {
    measuredPerSecond: 0,
    ratePerSecond: RATE_MIN,
    peakPerSecond: 0,
    throttledAtMs: nowMs,
    throttledOnce: false,
    requests: 0,
    bucketMs: Math.floor(nowMs / BUCKET_MS) * BUCKET_MS,
  };
}

/** The state after a response at `nowMs` (monotonic). A throttled one cuts the rate to 70 %, any other lets it grow. */
export function afterResponse(state: CubicRate, throttled: boolean, nowMs: number): CubicRate {
  const measured = measure(state, nowMs);
  const { measuredPerSecond } = measured;
  const limit = (rate: number) => Math.max(RATE_MIN, Math.min(rate, 2 * measuredPerSecond));
  if (!throttled) return { ...measured, ratePerSecond: limit(grown(measured, nowMs)) };
  const peak = state.throttledOnce ? Math.min(measuredPerSecond, state.ratePerSecond) : measuredPerSecond;
  return {
    ...measured,
    ratePerSecond: limit(peak * BETA),
    peakPerSecond: peak,
    throttledAtMs: nowMs,
    throttledOnce: true,
  };
}

/** Seconds the curve takes from a cut back to the peak: cbrt(peak * (1 - beta) / scale). */
export function recoverySeconds(peakPerSecond: number): number {
  return Math.cbrt((peakPerSecond * (1 - BETA)) / SCALE);
}

function grown(state: CubicRate, nowMs: number): number {
  const seconds = (nowMs - state.throttledAtMs) / 1000 - recoverySeconds(state.peakPerSecond);
  return SCALE * seconds ** 3 + state.peakPerSecond;
}

function measure(state: CubicRate, nowMs: number): CubicRate {
  const bucketMs = Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
  const requests = state.requests + 1;
  if (bucketMs <= state.bucketMs) return { ...state, requests };
  const perSecond = (requests * 1000) / (bucketMs - state.bucketMs);
  const measuredPerSecond = SMOOTHING * perSecond + (1 - SMOOTHING) * state.measuredPerSecond;
  return { ...state, measuredPerSecond, requests: 0, bucketMs };
}
