import type { FlowStats } from "@/lib/contract/stats";

type FlowBucket = FlowStats["buckets"][number];

/** What makes dlq_size grow: parked for the first time, come back, or released by an operator. */
function inflow(bucket: FlowBucket): number {
  return bucket.parked + bucket.bounced + bucket.released;
}

/** What makes dlq_size shrink: delivered or ignored. A failed send stays parked. */
export function outflow(bucket: FlowBucket): number {
  return bucket.redriven + bucket.ignored;
}

export type FlowRow = { atMs: number; in: number; out: number };

/** Inflow against outflow per bucket, as a chart draws it. */
export function flowRows(stats: Pick<FlowStats, "buckets">): FlowRow[] {
  return stats.buckets.map((bucket) => ({ atMs: Date.parse(bucket.at), in: inflow(bucket), out: outflow(bucket) }));
}

export type FlowTile = {
  /** Events per minute over the last `minutes`. */
  inPerMinute: number;
  outPerMinute: number;
  /** Inflow per bucket for the sparkline, oldest first. */
  spark: number[];
};

/**
 * Rate over the last few minutes: one minute alone jumps between zero and a burst. The running bucket counts for the
 * part of it that has passed, so that a rate does not drop at each full minute.
 */
export function flowTile(stats: Pick<FlowStats, "buckets" | "bucketMs" | "asOf">, minutes = 5): FlowTile {
  const whole = Math.max(1, Math.round((minutes * 60_000) / stats.bucketMs));
  const recent = stats.buckets.slice(-whole - 1);
  const first = recent[0];
  const span = first === undefined ? 0 : (Date.parse(stats.asOf) - Date.parse(first.at)) / 60_000;
  const perMinute = (of: (bucket: FlowBucket) => number) =>
    span <= 0 ? 0 : recent.reduce((sum, bucket) => sum + of(bucket), 0) / span;
  return { inPerMinute: perMinute(inflow), outPerMinute: perMinute(outflow), spark: stats.buckets.map(inflow) };
}

/** `41`, `0.4`, `< 0.1`: small rates keep a digit, so that a trickle does not read as none. */
export function perMinuteWords(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.1) return "< 0.1";
  return rate.toLocaleString("en-US", { maximumFractionDigits: rate < 10 ? 1 : 0 });
}

/** `98.2 %`; never 100 % while one is missing. null rate = none is settled yet. */
export function successWords(rate: number | null): string {
  if (rate === null) return "none settled";
  const percent = rate * 100;
  if (percent === 100) return "100 %";
  return `${(Math.floor(percent * 10) / 10).toFixed(1)} %`;
}
