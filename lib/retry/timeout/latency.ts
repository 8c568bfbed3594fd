/**
 * A bounded history of latencies, for quantiles that set timeouts. Buckets grow by 2^(1/8), about 9 %, from 0.1 ms to
 * past an hour; the memory is constant and old samples fade: when `samplesMax` is reached every count is halved.
 *
 * A call that timed out is censored: it took at least that long, nobody knows how long. Dropping such calls would make
 * timeouts shrink under load, counting them as finished would pull the quantile to the timeout. The quantile is the
 * Kaplan-Meier estimate, in which a censored call is at risk until it was cut and then leaves.
 * Source: Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations", 1958.
 */
export type LatencyHistory = {
  record(elapsedMs: number): void;
  /** A call that had not ended after `elapsedMs`. */
  recordCensored(elapsedMs: number): void;
  /** Upper edge (ms) of the bucket of quantile `q` in (0, 1). Infinity when it lies among the cut calls, null without records. */
  quantileMs(q: number): number | null;
  /** Samples now weighing in, censored ones included. */
  readonly samples: number;
  snapshot(): LatencySnapshot;
  clear(): void;
};

/** null = unknown: nothing recorded yet, or above everything that was seen to end. */
export type LatencySnapshot = { samples: number; p50Ms: number | null; p95Ms: number | null; p99Ms: number | null };

const BUCKETS_PER_DOUBLING = 8;
const FLOOR_MS = 0.1;
const BUCKETS = 208;

export function latencyHistory(samplesMax = 10_000): LatencyHistory {
  const ended = new Float64Array(BUCKETS);
  const cut = new Float64Array(BUCKETS);
  let samples = 0;

  const add = (cells: Float64Array, elapsedMs: number) => {
    if (samples >= samplesMax) fade();
    cells[bucketOf(elapsedMs)]! += 1;
    samples++;
  };
  const fade = () => {
    samples = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      ended[bucket]! /= 2;
      cut[bucket]! /= 2;
      samples += ended[bucket]! + cut[bucket]!;
    }
  };
  const quantileMs = (q: number): number | null => {
    if (samples === 0) return null;
    let atRisk = samples;
    let surviving = 1;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (ended[bucket]! > 0) surviving *= 1 - ended[bucket]! / atRisk;
      // 1 - 0.95 is a little more than 0.05: without the slack an exact quantile would slip a bucket.
      if (surviving <= 1 - q + 1e-12) return edgeMs(bucket);
      atRisk -= ended[bucket]! + cut[bucket]!;
    }
    return Number.POSITIVE_INFINITY;
  };
  const known = (q: number): number | null => {
    const ms = quantileMs(q);
    return ms === Number.POSITIVE_INFINITY ? null : ms;
  };

  return {
    record: (elapsedMs) => add(ended, elapsedMs),
    recordCensored: (elapsedMs) => add(cut, elapsedMs),
    quantileMs,
    get samples() {
      return samples;
    },
    snapshot: () => ({ samples: Math.round(samples), p50Ms: known(0.5), p95Ms: known(0.95), p99Ms: known(0.99) }),
    clear() {
      ended.fill(0);
      cut.fill(0);
      samples = 0;
    },
  };
}

/** Bucket of a latency: 0 holds everything up to the floor, the last everything beyond the range. */
function bucketOf(elapsedMs: number): number {
  if (!(elapsedMs > FLOOR_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(elapsedMs / FLOOR_MS) * BUCKETS_PER_DOUBLING));
}

function edgeMs(bucket: number): number {
  return FLOOR_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);
}
