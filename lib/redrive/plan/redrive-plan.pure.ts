import { aggregateKeyOf } from "@/lib/order/aggregate.pure";
import { comparePlaces } from "@/lib/order/place.pure";

/** Mean items of a slice. Hashing spreads them, so a slice stays below 100 unless one aggregate alone is larger. */
const SLICE_ITEMS_MEAN = 64;
const SINGLE_SLICE_ITEMS_MAX = 100;

/**
 * The number of slices of a redrive of about `total` events. It is fixed when the redrive is created, even if the total
 * is an estimate.
 */
export function sliceCount(total: number): number {
  return total <= SINGLE_SLICE_ITEMS_MAX ? 1 : Math.ceil(total / SLICE_ITEMS_MEAN);
}

export type OrderedItem = {
  id: string;
  sourceId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: bigint | null;
};

/** Items as runs that may go in parallel: one run an aggregate, in order; an event without aggregate is its own run. */
export function aggregateRuns<Item extends OrderedItem>(items: readonly Item[]): Item[][] {
  const runs = new Map<string, Item[]>();
  for (const item of items) {
    const key = aggregateKeyOf(item) ?? item.id;
    const run = runs.get(key);
    if (run) run.push(item);
    else runs.set(key, [item]);
  }
  return [...runs.values()].map((run) => run.sort(comparePlaces));
}
