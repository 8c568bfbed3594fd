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

  const baseOf = (slot: number) => (((slot % slots) + slots) % slots) * columns;
  /** Added up anew at each step of the window, so that rounding errors do not pile up over months. */
  const addUp = () => {
    totals.fill(0);
    for (let cell = 0; cell < cells.length; cell++) totals[cell % columns]! += cells[cell]!;
  };
  const clear = () => {
    cells.fill(0);
    totals.fill(0);
  };
  const advance = (nowMs: number) => {
    const slot = Math.floor(nowMs / slotMs);
    if (slot <= head) return;
    const from = Math.max(head + 1, slot - slots + 1);
    for (let next = from; next <= slot; next++) cells.fill(0, baseOf(next), baseOf(next) + columns);
    head = slot;
    addUp();
  };

  return {
    add(column, amount, nowMs) {
      advance(nowMs);
      cells[baseOf(head) + column]! += amount;
      totals[column]! += amount;
    },
    sum(column, nowMs) {
      advance(nowMs);
      return totals[column]!;
    },
    clear,
  };
}
