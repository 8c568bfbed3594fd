export type BulkheadPolicy = {
  /** Calls that may be under way at once. */
  permits: number;
  /** Calls that may wait for a permit; one more is rejected at once. */
  queueMax: number;
};

export type BulkheadSnapshot = { permits: number; inUse: number; queued: number; queueMax: number };

type BulkheadWaiter = {
  /** Leaves the queue; false when the permit was already granted. */
  leave(): boolean;
};

/**
 * Bounds how many calls of one target are under way. Permits are handed over in order of arrival: a released permit
 * goes to the oldest waiter before a newcomer can take it. Repeats go before first calls: their deadline is running.
 */
export class Bulkhead {
  #policy: BulkheadPolicy;
  #inUse = 0;
  /** A Set keeps arrival order and lets an aborted waiter leave from the middle at no cost. */
  #waiters = new Set<() => void>();
  #repeats = new Set<() => void>();
  /** Lent places that are wanted back. */
  #returns = new Set<() => void>();
  #lent = 0;

  constructor(policy: BulkheadPolicy) {
    this.#policy = policy;
  }

  /** Changes the number of permits. Calls under way keep theirs; waiters get what is free now. */
  resize(permits: number): void {
    this.#policy = { ...this.#policy, permits };
    while (this.#inUse < permits && this.#waiting() > 0) {
      this.#inUse++;
      this.release();
    }
  }

  /** Takes a permit now; false when none is free. Each true needs one `release`. */
  tryEnter(): boolean {
    if (this.#inUse >= this.#policy.permits) return false;
    this.#inUse++;
    return true;
  }

  /** Whether `queue` would answer a place now. */
  hasRoom(): boolean {
    return this.#queued() < this.#policy.queueMax;
  }

  /** Queues for a permit; `granted` is called once, holding the permit. null when the queue is full. */
  queue(granted: () => void, { repeat = false } = {}): BulkheadWaiter | null {
    if (!this.hasRoom()) return null;
    const waiter = () => granted();
    const waiters = repeat ? this.#repeats : this.#waiters;
    waiters.add(waiter);
    return { leave: () => waiters.delete(waiter) };
  }

  /** Lends the permit of a call that sends nothing yet; false when `most` are lent. Each true needs one `endLoan`. */
  lend(most: number): boolean {
    if (this.#lent >= most) return false;
    this.#lent++;
    this.release();
    return true;
  }

  /** Ends a loan. `granted` null: the permit is no longer needed; else it is called before all who wait for a first one. */
  endLoan(granted: (() => void) | null): BulkheadWaiter | null {
    if (granted === null || this.tryEnter()) {
      this.#lent--;
      granted?.();
      return null;
    }
    const waiter = () => {
      this.#lent--;
      granted();
    };
    this.#returns.add(waiter);
    return {
      leave: () => {
        const left = this.#returns.delete(waiter);
        if (left) this.#lent--;
        return left;
      },
    };
  }

  release(): void {
    if (this.#inUse > this.#policy.permits) {
      this.#inUse--;
      return;
    }
    for (const waiters of [this.#returns, this.#repeats, this.#waiters]) {
      for (const waiter of waiters) {
        waiters.delete(waiter);
        waiter();
        return;
      }
    }
    this.#inUse--;
  }

  snapshot(): BulkheadSnapshot {
    return { ...this.#policy, inUse: this.#inUse, queued: this.#queued() };
  }

  #waiting(): number {
    return this.#returns.size + this.#queued();
  }

  #queued(): number {
    return this.#waiters.size + this.#repeats.size;
  }
}
