import type { TargetSnapshot } from "@/lib/retry/target";
import type { HeartbeatInfo } from "@/lib/store/read/target-list";

/** What the console shows of a worker: how many slices run, and its engine's state by target. */
export function heartbeatInfo(running: number, snapshots: Record<string, TargetSnapshot>): HeartbeatInfo {
  const targets = Object.fromEntries(Object.entries(snapshots).map(([name, snapshot]) => [name, engineOf(snapshot)]));
  return { running, targets };
}

function engineOf({ breaker, budget, bulkhead, latency, counters }: TargetSnapshot): HeartbeatInfo["targets"][string] {
  return {
    breaker: breaker && { ...breakerWord(breaker.state), waitMs: breaker.state === "open" ? breaker.waitMs : null },
    budget: { left: budget.available, retryRatio: counters.retryRate },
    bulkhead: { inUse: bulkhead?.inUse ?? 0, queued: bulkhead?.queued ?? 0, permits: bulkhead?.permits ?? 0 },
    latency,
    counters,
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
