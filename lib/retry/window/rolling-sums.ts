/**
 * Sums of a few counters over the last `windowMs`, in a ring of equal slots: constant memory, no allocation per
 * event, each expiry costs at most one pass over the ring. The window slides in steps of one slot, so a value lives
 * between windowMs - slotMs and windowMs.
 */
export type RollingSums = {
  /** Adds to counter `column` at `nowMs` (monotonic). */
  add(column: number, amount: number, nowMs: number): void;
  /** Sum of counter `column` over the window that ends at `nowMs`. */
  sum(column: number, nowMs: number): number;
  clear(): void;
};

/** @param columns how many counters share the ring */
export function rollingSums(columns: number, windowMs: number, slots: number): RollingSums {
  const slotMs = windowMs / slots;
  const cells = new Float64Array(columns * slots);
  const totals = new Float64Array(columns);
  // Absolute number of the newest slot that was written or read; older slots are cleared as it moves on.
  let head = Number.NEGATIVE_INFINITY;

  const forget = (slot: number) => {
    const base = (((slot % slots) + slots) % slots) * columns;
    for (let column = 0; column < columns; column++) {
      totals[column]! -= cells[base + column]!;
      cells[base + column] = 0;
    }
  };
  const clear = () => {
    cells.fill(0);
    totals.fill(0);
  };
  const advance = (nowMs: number) => {
    const slot = Math.floor(nowMs / slotMs);
    if (slot <= head) return;
    // A jump of a whole window empties everything, which also throws away the rounding error of running totals.
    if (slot - head >= slots) clear();
    else for (let next = head + 1; next <= slot; next++) forget(next);
    head = slot;
  };

  return {
    add(column, amount, nowMs) {
      advance(nowMs);
      const base = (((head % slots) + slots) % slots) * columns;
      cells[base + column]! += amount;
      totals[column]! += amount;
    },
    sum(column, nowMs) {
      advance(nowMs);
      return totals[column]!;
    },
    clear,
  };
}
