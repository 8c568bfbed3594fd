import type { Clock } from "@/lib/retry/clock";
import {
  newTokenBucket,
  refilled,
  type TokenBucketPolicy,
  type TokenBucketState,
  takeTokens,
  withPolicy,
} from "@/lib/retry/rate/token-bucket";

/** More calls wait for a token than `queueMax` allows: this one was not made. */
export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
  readonly code = "RATE_QUEUE_FULL";
  /** Read by `classify`: nothing was sent. */
  readonly sent = "no";

  constructor(queueMax: number) {
    super(`${queueMax} calls already wait for a token`);
  }
}

type Waiter = { cost: number; resolve: () => void };

/** A token bucket with a first-come queue for one process: a cheap take cannot starve a dear one. All waiters share one timer. */
export class Throttle {
  #policy: TokenBucketPolicy;
  #clock: Clock;
  #state: TokenBucketState;
  #waiters = new Set<Waiter>();
  #queueMax: number;
  #disarm: (() => void) | null = null;

  /** @param queueMax calls that may wait; one more is rejected */
  constructor(policy: TokenBucketPolicy, clock: Clock, queueMax = Number.POSITIVE_INFINITY) {
    this.#queueMax = queueMax;
    this.#policy = policy;
    this.#clock = clock;
    this.#state = newTokenBucket(policy, clock.nowMs());
  }

  /** Takes `cost` tokens if they are there and nobody waits for them. Throws RangeError for a cost above the capacity. */
  tryTake(cost = 1): boolean {
    return this.#waiters.size === 0 && this.#grant(cost) === null;
  }

  /** Waits for `cost` tokens. Rejects with `signal.reason`, with QueueFullError when too many wait, and with RangeError like tryTake. */
  async take(cost = 1, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.tryTake(cost)) return;
    if (this.#waiters.size >= this.#queueMax) throw new QueueFullError(this.#queueMax);
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        this.#waiters.delete(waiter);
        this.#serve();
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        cost,
        resolve: () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.#waiters.add(waiter);
      this.#serve();
    });
  }

  /** Changes rate and capacity live; waiters are looked at again. A waiter whose cost no longer fits waits for a change back. */
  change(policy: TokenBucketPolicy): void {
    this.#state = withPolicy(policy, refilled(this.#policy, this.#state, this.#clock.nowMs()));
    this.#policy = policy;
    this.#serve();
  }

  snapshot(): { tokens: number; waiting: number } {
    return {
      tokens: refilled(this.#policy, this.#state, this.#clock.nowMs()).tokens,
      waiting: this.#waiters.size,
    };
  }

  /** Serves from the head of the queue as far as the tokens reach, then sets the timer for the next. */
  #serve(): void {
    this.#disarm?.();
    this.#disarm = null;
    for (const waiter of this.#waiters) {
      if (waiter.cost > this.#policy.capacity) return;
      const waitMs = this.#grant(waiter.cost);
      if (waitMs !== null) {
        if (waitMs !== Number.POSITIVE_INFINITY) this.#disarm = this.#clock.timer(waitMs, () => this.#serve());
        return;
      }
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** null = granted, else how long it would take. */
  #grant(cost: number): number | null {
    const { state, taken } = takeTokens(this.#policy, this.#state, cost, this.#clock.nowMs());
    this.#state = state;
    return taken.granted ? null : taken.waitMs;
  }
}
