import type { FlowStats } from "@/lib/observe/stats/stats.shapes";

type FlowBucket = FlowStats["buckets"][number];

/** Flows that increase the number of parked events: parked for the first time, bounced, or released by an operator. */
function inflow(bucket: FlowBucket): number {
  return bucket.parked + bucket.bounced + bucket.released;
}

/** Flows that decrease the number of parked events. After a failed send the event stays parked. */
export function outflow(bucket: FlowBucket): number {
  return bucket.redriven + bucket.ignored + bucket.expired;
}

/** `unstored` and `duplicate` came in, too, and are not parked. */
type FlowRow = { atMs: number; in: number; out: number; unstored: number; duplicate: number };

export function flowRows(stats: Pick<FlowStats, "buckets">): FlowRow[] {
  return stats.buckets.map((bucket) => ({
    atMs: Date.parse(bucket.at),
    in: inflow(bucket),
    out: outflow(bucket),
    unstored: bucket.unstored,
    duplicate: bucket.duplicate,
  }));
}

type FlowTile = {
  /** Events per minute over the last `minutes`. */
  inPerMinute: number;
  outPerMinute: number;
  /** Inflow per bucket for the sparkline, oldest first. */
  spark: number[];
};

/** The rate over some minutes, since a single one varies too much. The running bucket counts for its elapsed part. */
export function flowTile(stats: Pick<FlowStats, "buckets" | "bucketMs" | "asOf">, minutes = 5): FlowTile {
  const whole = Math.max(1, Math.round((minutes * 60_000) / stats.bucketMs));
  const recent = stats.buckets.slice(-whole - 1);
  const first = recent[0];
  const span = first === undefined ? 0 : (Date.parse(stats.asOf) - Date.parse(first.at)) / 60_000;
  const perMinute = (of: (bucket: FlowBucket) => number) =>
    span <= 0 ? 0 : recent.reduce((sum, bucket) => sum + of(bucket), 0) / span;
  return { inPerMinute: perMinute(inflow), outPerMinute: perMinute(outflow), spark: stats.buckets.map(inflow) };
}

/** `41`, `0.4`, `< 0.1`: small rates keep a digit, so that a small rate does not read as zero. */
export function perMinuteWords(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.1) return "< 0.1";
  return rate.toLocaleString("en-US", { maximumFractionDigits: rate < 10 ? 1 : 0 });
}

/** `98.2%`; never 100% while one event is missing. A null rate means that no event is decided yet. */
export function successWords(rate: number | null): string {
  if (rate === null) return "no outcome yet";
  const percent = rate * 100;
  if (percent === 100) return "100%";
  return `${(Math.floor(percent * 10) / 10).toFixed(1)}%`;
}
