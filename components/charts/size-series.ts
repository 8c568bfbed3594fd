import type { SizeStats } from "@/lib/contract/stats";

/** How many error codes get an area of their own; more cannot be told apart. */
const SERIES_MAX = 6;
/** Also what the server calls the codes that it does not tell apart. */
export const OTHER = "other";

/** A row a chart can draw: the bucket's end and one number per series, by the series' key. */
type SizeRow = { atMs: number; total: number; values: Record<string, number> };
export type SizeSeries = {
  rows: SizeRow[];
  /** Bottom of the stack first. `codes` is what the series stands for: one code, or several under `other`. */
  series: { key: string; codes: string[]; last: number }[];
  bucketMs: number;
};

/**
 * dlq_size ready to draw: the largest codes by their sum over the window get an area each, the rest share `other` on
 * top. What the codes do not explain (a rounding of the rollup) is never invented: rows show the sum of their codes.
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
    // A size is that of the bucket's end; the running bucket ends now.
    return { atMs: Math.min(Date.parse(bucket.at) + stats.bucketMs, asOfMs), total: bucket.total, values };
  });
  const last = rows.at(-1);
  const series = own.map((code) => ({ key: code, codes: [code], last: last?.values[code] ?? 0 }));
  if (rest.length > 0) series.push({ key: OTHER, codes: rest, last: last?.values[OTHER] ?? 0 });
  return { rows, series, bucketMs: stats.bucketMs };
}

/**
 * Change of the parked total over the last `spanMs`: now minus the size at the end of the newest bucket
 * that old. null when the
 * window does not reach back so far: unknown is not zero.
 */
export function changeOver(
  stats: Pick<SizeStats, "buckets" | "bucketMs" | "asOf" | "now">,
  spanMs: number,
): number | null {
  const then = Date.parse(stats.asOf) - spanMs;
  const before = stats.buckets.findLast((bucket) => Date.parse(bucket.at) + stats.bucketMs <= then);
  return before === undefined ? null : stats.now - before.total;
}
