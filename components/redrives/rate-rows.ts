import type { RedriveRate } from "@/lib/contract/redrives";

export type RateRow = { atMs: number; values: { delivered: number; failed: number; refused: number } };

/** Outcomes per second and bucket, so that the set rate is a line in the same unit. */
export function rateRows({ buckets, bucketMs }: Pick<RedriveRate, "buckets" | "bucketMs">): RateRow[] {
  const perSecond = (count: number) => (count * 1000) / bucketMs;
  return buckets.map((bucket) => ({
    atMs: Date.parse(bucket.at),
    values: {
      delivered: perSecond(bucket.delivered),
      failed: perSecond(bucket.failed),
      refused: perSecond(bucket.refused),
    },
  }));
}
