import type { SizeStats } from "@/lib/observe/stats/stats.shapes";

/** The number of error codes that get an area of their own; the eye cannot tell more areas apart. */
const SERIES_MAX = 6;
/** The server uses the same name for the codes that it adds up. */
export const OTHER = "other";

/** One row of a chart: the end of the bucket, and one number a series, by the key of the series. */
type SizeRow = { atMs: number; total: number; values: Record<string, number> };
export type SizeSeries = {
  rows: SizeRow[];
  /** The bottom of the stack first. `codes`: the error codes of the series, several under `other`. */
  series: { key: string; codes: string[]; last: number }[];
  bucketMs: number;
};

/**
 * The number of parked events, ready to draw: the codes with the largest sums over the window get an area each, the
 * other codes share `other` on top. A row shows the sum of its codes, also when the rollup's total differs by a
 * rounding.
 */
export function sizeSeries(stats: Pick<SizeStats, "buckets" | "bucketMs" | "asOf">, max = SERIES_MAX): SizeSeries {
  const weights = new Map<string, number>();
  for (const bucket of stats.buckets)
    for (const [code, count] of Object.entries(bucket.byErrorCode)) weights.set(code, (weights.get(code) ?? 0) + count);
  const ranked = [...weights]
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  const told = ranked.map(([code]) => code).filter((code) => code !== OTHER);
  const own = told.slice(0, ranked.length <= max && told.length === ranked.length ? max : max - 1);
  const rest = ranked.map(([code]) => code).filter((code) => !own.includes(code));

  const asOfMs = Date.parse(stats.asOf);
  const rows = stats.buckets.map((bucket) => {
    const values: Record<string, number> = {};
    for (const code of own) values[code] = bucket.byErrorCode[code] ?? 0;
    if (rest.length > 0) values[OTHER] = rest.reduce((sum, code) => sum + (bucket.byErrorCode[code] ?? 0), 0);
    // A size is measured at the end of its bucket. The running bucket ends now.
    return { atMs: Math.min(Date.parse(bucket.at) + stats.bucketMs, asOfMs), total: bucket.total, values };
  });
  const last = rows.at(-1);
  const series = own.map((code) => ({ key: code, codes: [code], last: last?.values[code] ?? 0 }));
  if (rest.length > 0) series.push({ key: OTHER, codes: rest, last: last?.values[OTHER] ?? 0 });
  return { rows, series, bucketMs: stats.bucketMs };
}

/** Change of the parked total over the last `spanMs`; null when the window is shorter: unknown is not zero. */
export function changeOver(
  stats: Pick<SizeStats, "buckets" | "bucketMs" | "asOf" | "now">,
  spanMs: number,
): number | null {
  const then = Date.parse(stats.asOf) - spanMs;
  const before = stats.buckets.findLast((bucket) => Date.parse(bucket.at) + stats.bucketMs <= then);
  return before === undefined ? null : stats.now - before.total;
}
