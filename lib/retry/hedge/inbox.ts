import type { Clock } from "@/lib/retry/clock";

/** Results of promises in the order they settle, with a time limit on waiting for the next. */
export class Inbox<T> {
  #clock: Clock;
  #arrived: ({ value: T } | { error: unknown })[] = [];
  #notify: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  expect(promise: Promise<T>): void {
    promise.then(
      (value) => this.#put({ value }),
      (error: unknown) => this.#put({ error }),
    );
  }

  /** The next result; null when cancelled or none came by `untilMs` (monotonic, Infinity = as long as it takes). */
  async take(untilMs: number): Promise<T | null> {
    if (this.#arrived.length === 0) await this.#wait(untilMs);
    const next = this.#arrived.shift();
    if (next === undefined) return null;
    if ("error" in next) throw next.error;
    return next.value;
  }

  #wait(untilMs: number): Promise<void> {
    return new Promise((resolve) => {
      const disarm =
        untilMs === Number.POSITIVE_INFINITY
          ? () => {}
          : this.#clock.timer(Math.max(0, untilMs - this.#clock.nowMs()), () => {
              this.#notify = null;
              resolve();
            });
      this.#notify = () => {
        disarm();
        resolve();
      };
    });
  }

  /** Ends the present wait: `take` answers null. */
  cancel(): void {
    const notify = this.#notify;
    this.#notify = null;
    notify?.();
  }

  /** The same: waiting for the next result is no send. */
  cancelWait(): void {
    this.cancel();
  }

  #put(result: { value: T } | { error: unknown }): void {
    this.#arrived.push(result);
    this.cancel();
  }
}
