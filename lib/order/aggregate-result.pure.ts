import { type AggregateName, aggregateKey } from "@/lib/order/aggregate.pure";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";

/**
 * How a batch of outcomes changes the consecutive failures of one aggregate. `reset`: its consumer had processed an
 * event of the aggregate, so the count starts again at 0; `failures`: failures after the reset. A delivery changes
 * nothing: it may still bounce.
 */
export type AggregateResult = AggregateName & { reset: boolean; failures: number };

type Ended = {
  item: { sourceId: string; aggregateType: string | null; aggregateId: string | null };
  outcome: ItemOutcome;
};

/**
 * One result for each aggregate whose count changes. The outcomes are in the order in which they happened.
 */
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
  return [...results.values()].filter(({ reset, failures }) => reset || failures > 0);
}
