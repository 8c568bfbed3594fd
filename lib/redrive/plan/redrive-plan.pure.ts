import { aggregateKeyOf, comparePlaces, type OrderedItem } from "@/lib/order/aggregate.pure";

/** As many as a worker has jobs at a time: each of them works a slice, and several workers share them. */
const SLICES_MAX = 12;
/** A smaller redrive has fewer slices, of this many items each. */
const SLICE_ITEMS = 64;
const SINGLE_SLICE_ITEMS_MAX = 100;

/**
 * The number of slices of a redrive of about `total` events. It is fixed when the redrive is created, even if the total
 * is an estimate.
 */
export function sliceCount(total: number): number {
  return total <= SINGLE_SLICE_ITEMS_MAX ? 1 : Math.min(Math.ceil(total / SLICE_ITEMS), SLICES_MAX);
}

export function allSlices({ slices }: { slices: number }): number[] {
  return Array.from({ length: slices }, (_, slice) => slice);
}

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
