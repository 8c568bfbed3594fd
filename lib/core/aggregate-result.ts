import type { ItemOutcome } from "@/lib/core/item-outcome";

/**
 * What a batch of outcomes does to one aggregate's run of failures. `reset`: something was delivered, the run ended;
 * `failures`: failures after the last delivery. Neither: only the lease is released.
 */
export type AggregateResult = { sourceId: string; aggregateId: string; reset: boolean; failures: number };

type Ended = { item: { sourceId: string; aggregateId: string | null }; outcome: ItemOutcome };

/** One result an aggregate, from outcomes in the order in which they happened. Events without aggregate have none. */
export function aggregateResults(ended: readonly Ended[]): AggregateResult[] {
  const results = new Map<string, AggregateResult>();
  for (const { item, outcome } of ended) {
    if (item.aggregateId === null) continue;
    const key = `${item.sourceId}:${item.aggregateId}`;
    const result = results.get(key) ?? {
      sourceId: item.sourceId,
      aggregateId: item.aggregateId,
      reset: false,
      failures: 0,
    };
    if (outcome.kind === "delivered" || outcome.kind === "already-processed") {
      result.reset = true;
      result.failures = 0;
    } else if (outcome.kind === "failed") {
      result.failures++;
    }
    results.set(key, result);
  }
  // A fixed order: two finishing transactions that share aggregates lock them in the same sequence.
  return [...results.values()].sort((left, right) => (left.aggregateId < right.aggregateId ? -1 : 1));
}
