/** Deliveries between the socket and the batch in work. Bounded by the channel's prefetch, not here. */
export class Inbox<T> {
  private items: T[] = [];
  private wake: PromiseWithResolvers<void> | null = null;
  private wantedCount = 1;

  get size(): number {
    return this.items.length;
  }

  push(item: T): void {
    this.items.push(item);
    if (this.items.length >= this.wantedCount) this.wake?.resolve();
  }

  /** Resolves when at least `count` items are there. One waiter at a time. */
  whenAtLeast(count: number): Promise<void> {
    if (this.items.length >= count) return Promise.resolve();
    this.wantedCount = count;
    this.wake = Promise.withResolvers();
    return this.wake.promise;
  }

  take(max: number): T[] {
    return this.items.splice(0, max);
  }
}
