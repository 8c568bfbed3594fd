import { type AggregateName, aggregateKey } from "@/lib/core/aggregate";
import type { ItemOutcome } from "@/lib/core/item-outcome";

/**
 * How a batch of outcomes changes the failures in a row of one aggregate. `reset`: its consumer had processed an event of
 * it, which ends the row; `failures`: failures after that. A delivery changes nothing: it may still bounce.
 */
export type AggregateResult = AggregateName & { reset: boolean; failures: number };

type Ended = {
  item: { sourceId: string; aggregateType: string | null; aggregateId: string | null };
  outcome: ItemOutcome;
};

/** One result an aggregate, from outcomes in the order in which they happened. Events without aggregate have none. */
export function aggregateResults(ended: readonly Ended[]): AggregateResult[] {
  const results = new Map<string, AggregateResult>();
  for (const { item, outcome } of ended) {
    const { sourceId, aggregateType, aggregateId } = item;
    if (aggregateId === null) continue;
    const aggregate = { sourceId, aggregateType, aggregateId };
    const key = aggregateKey(aggregate);
    const result = results.get(key) ?? { ...aggregate, reset: false, failures: 0 };
    if (outcome.kind === "already-processed") {
      result.reset = true;
      result.failures = 0;
    } else if (outcome.kind === "failed") {
      result.failures++;
    }
    results.set(key, result);
  }
  return [...results.values()];
}
