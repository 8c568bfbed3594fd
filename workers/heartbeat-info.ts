import type { BucketState } from "@/lib/lane/bucket-fallback";
import type { TargetReport } from "@/lib/redrive/targets/target-runtime";
import type { TargetSnapshot } from "@/lib/retry/target";
import type { HeartbeatInfo } from "@/lib/sources/targets/target-list.read";

/**
 * The report of a worker for the console and the metrics: its slices, its token buckets, its engine's state by target.
 */
export function heartbeatInfo(
  running: number,
  reports: Record<string, TargetReport>,
  bucket: BucketState,
): HeartbeatInfo {
  const targets = Object.fromEntries(Object.entries(reports).map(([name, report]) => [name, engineOf(report)]));
  return { running, targets, bucket };
}

function engineOf({ snapshot, away, policy, bucket, sent }: TargetReport): HeartbeatInfo["targets"][string] {
  const { breaker, budget, bulkhead, latency, waits, healing, counters } = snapshot;
  return {
    breaker: breaker && {
      ...breakerWord(breaker.state),
      waitMs: breaker.state === "open" ? breaker.waitMs : null,
      openRatio: breaker.openRatio,
    },
    away,
    budget: { left: budget.available, retryRatio: counters.retryRate },
    bulkhead: { inUse: bulkhead?.inUse ?? 0, queued: bulkhead?.queued ?? 0, permits: bulkhead?.permits ?? 0 },
    latency,
    waits,
    counters,
    healing,
    policy,
    bucket,
    sent,
  };
}

type BreakerState = NonNullable<TargetSnapshot["breaker"]>["state"];

function breakerWord(state: BreakerState): { state: "closed" | "open" | "half-open"; forced: boolean } {
  switch (state) {
    case "forced-open":
      return { state: "open", forced: true };
    case "forced-closed":
      return { state: "closed", forced: true };
    case "open":
    case "closed":
    case "half-open":
      return { state, forced: false };
  }
}
