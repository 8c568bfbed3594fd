import { aggregateKeyOf, comparePlaces } from "@/lib/order/aggregate.pure";

/** Mean items of a slice of a large redrive: two or three claims. Each slice is a job, whose turn costs as much as some sends. */
const SLICE_ITEMS_MEAN = 200;
/** A smaller redrive is cut finer, so that its slices keep a worker's twelve jobs busy. */
const SMALL_SLICE_ITEMS_MEAN = 64;
const SMALL_SLICES_MAX = 12;
const SINGLE_SLICE_ITEMS_MAX = 100;

/**
 * The number of slices of a redrive of about `total` events. It is fixed when the redrive is created, even if the total
 * is an estimate.
 */
export function sliceCount(total: number): number {
  if (total <= SINGLE_SLICE_ITEMS_MAX) return 1;
  const small = Math.min(Math.ceil(total / SMALL_SLICE_ITEMS_MEAN), SMALL_SLICES_MAX);
  return Math.max(small, Math.ceil(total / SLICE_ITEMS_MEAN));
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
