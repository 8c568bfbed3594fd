import type { AgeStats } from "@/lib/observe/stats/stats.shapes";

export type AgeRow = { atMs: number; values: { p50: number | null; p95: number | null; oldest: number | null } };

/** A logarithmic axis needs values above zero, and ages below a second carry no information. */
const AGE_MS_MIN = 1_000;

/** Ages per bucket. A bucket without parked events is a gap, never zero. Empty when no bucket has any. */
export function ageRows(stats: Pick<AgeStats, "buckets">): AgeRow[] {
  const rows = stats.buckets.map((bucket) => ({
    atMs: Date.parse(bucket.at),
    values: { p50: atLeast(bucket.p50Ms), p95: atLeast(bucket.p95Ms), oldest: atLeast(bucket.oldestMs) },
  }));
  return rows.some((row) => row.values.oldest !== null) ? rows : [];
}

function atLeast(ms: number | null): number | null {
  return ms === null ? null : Math.max(ms, AGE_MS_MIN);
}
