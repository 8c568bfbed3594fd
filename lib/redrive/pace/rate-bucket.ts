import type { BucketSpec } from "@/lib/lane/port";

/** Part of a second's tokens that a bucket holds by default: sends come evenly, not in a burst each second. */
const BURST_SECONDS = 0.1;

/** A bucket of one loses the tokens that come before its token is fetched: 10/s were measured at 9.6/s, with two at 10/s. */
const BURST_MIN = 2;

/** A target without bursts is lent this much of a second's worth: one round trip brings several sends, each at its time. */
const LENT_SECONDS = 0.05;

/** An even flow: a leaky bucket, one send each 1 / ratePerSecond. null = unlimited. */
export function evenBucketSpec(key: string, ratePerSecond: number | null): BucketSpec | null {
  if (ratePerSecond === null) return null;
  return { key, ratePerSecond, burst: 1, lent: Math.max(1, Math.floor(ratePerSecond * LENT_SECONDS)) };
}

/** null = unlimited. A bucket holds at least one token, or it could never grant any. */
export function bucketSpec(key: string, ratePerSecond: number | null, burst: number | null = null): BucketSpec | null {
  if (ratePerSecond === null) return null;
  const smooth = Math.max(BURST_MIN, ratePerSecond * BURST_SECONDS);
  return { key, ratePerSecond, burst: Math.max(1, Math.min(burst ?? smooth, ratePerSecond)) };
}
