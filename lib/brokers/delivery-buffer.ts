import type { Clock } from "@/lib/platform/clock";

/** Deliveries between the socket and the current batch, for one reader. The broker's window bounds it. */
export class DeliveryBuffer<T> {
  private items: T[] = [];
  private waiter: { count: number; wake: PromiseWithResolvers<void> } | null = null;
  private failure: { error: unknown } | null = null;

  get size(): number {
    return this.items.length;
  }

  push(item: T): void {
    this.items.push(item);
    if (this.waiter !== null && this.items.length >= this.waiter.count) this.wake();
  }

  /** Ends the present wait and each later one with this error. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.waiter?.wake.reject(this.failure.error);
    this.waiter = null;
  }

  throwIfFailed(): void {
    if (this.failure !== null) throw this.failure.error;
  }

  wake(): void {
    this.waiter?.wake.resolve();
    this.waiter = null;
  }

  /** Resolves when `count` items are there, or after `withinMs`, or on `wake`. Rejects on `fail`. */
  async wait(count: number, within?: { ms: number; clock: Clock }): Promise<void> {
    this.throwIfFailed();
    if (this.items.length >= count) return;
    const wake = Promise.withResolvers<void>();
    this.waiter = { count, wake };
    const stopTimer = within?.clock.timer(within.ms, () => this.wake());
    try {
      await wake.promise;
    } finally {
      stopTimer?.();
    }
  }

  take(max: number): T[] {
    return this.items.splice(0, max);
  }

  /** 1 to `max` items, `lingerMs` after the first; none when `signal` fires or after `withinMs`. Rejects on `fail`. */
  async takeBatch(max: number, { signal, withinMs, lingerMs, clock }: BatchOptions): Promise<T[]> {
    const wake = () => this.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      if (signal.aborted) return [];
      await this.wait(1, withinMs === undefined ? undefined : { ms: withinMs, clock });
      if (!signal.aborted && this.size > 0) await this.wait(max, { ms: lingerMs, clock });
      return signal.aborted ? [] : this.take(max);
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }
}

type BatchOptions = { signal: AbortSignal; withinMs?: number | undefined; lingerMs: number; clock: Clock };
