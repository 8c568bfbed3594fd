import type { BucketSpec, TokenBucket } from "@/lib/lane/port";
import type { Clock } from "@/lib/platform/clock";

/** Waiters served by one round trip at most. */
const BATCH_MAX = 1_000;

/** At high rates the feeder collects for this long, so that one round trip brings several tokens. */
const COLLECT_MS = 5;

/** A changed rate is noticed this soon, also in the middle of a long wait. */
const RECHECK_MS = 200;

/** First and longest pause while the bucket does not answer. */
const RETRY_MS = 250;
const RETRY_MS_MAX = 2_000;

type TokenFeederOptions = {
  bucket: TokenBucket;
  /** Read before every take, so that a change of the rate is live. null = unlimited. */
  spec: () => BucketSpec | null;
  clock: Clock;
  /** The first error of an outage of the bucket. Waiters keep waiting: no token without the bucket. */
  onError: (error: unknown) => void;
};

export type TokenFeeder = {
  /**
   * Resolves with one token taken, in order of arrival. Rejects with `signal.reason` at once on abort, and with
   * RangeError when the spec can never be served. Unlimited passes at once.
   */
  take(signal: AbortSignal): Promise<void>;
  /** Attempts that wait for a token. */
  waiting(): number;
};

type Waiter = { pass: () => void; fail: (error: unknown) => void };

/**
 * Feeds the attempts of one process from one distributed bucket. It asks for as many tokens as there are waiters and
 * gives each to a waiter at once, so it holds none: a token that arrives when its waiter has left goes to the next one. With
 * no waiter left it is lost (fewer sends than allowed, never more).
 */
export function createTokenFeeder(options: TokenFeederOptions): TokenFeeder {
  const waiters = new Set<Waiter>();
  let feeding = false;
  let wake = new AbortController();

  async function feed(): Promise<void> {
    // All takes of this turn of the event loop share the first round trip.
    await Promise.resolve();
    let failures = 0;
    while (waiters.size > 0) {
      const spec = options.spec();
      try {
        const waitMs = await feedOnce(spec);
        failures = 0;
        if (spec && waiters.size > 0) await rest(spec, options.clock.nowMs() + Math.max(waitMs, collectMs(spec)));
      } catch (error) {
        if (error instanceof RangeError) return failAll(waiters, error);
        if (failures === 0) options.onError(error);
        await nap(Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX));
      }
    }
  }

  /** One round trip. Resolves with the milliseconds until one more token. */
  async function feedOnce(spec: BucketSpec | null): Promise<number> {
    if (spec === null) {
      passFirst(waiters, waiters.size);
      return 0;
    }
    const { granted, waitMs, dueMs } = await options.bucket.takeUpTo(spec, Math.min(waiters.size, BATCH_MAX));
    const takenMs = options.clock.nowMs();
    // A lent token is given when it is due; when its waiter has left it goes to the next.
    for (let token = 0; token < granted; token++) {
      if (spec.lent && !(await rest(spec, takenMs + dueMs + (token * 1000) / spec.ratePerSecond))) return 0;
      passFirst(waiters, 1);
    }
    return takenMs + waitMs - options.clock.nowMs();
  }

  /** Sleeps until then; false when the rate was changed or the last waiter left before. */
  async function rest(spec: BucketSpec, untilMs: number): Promise<boolean> {
    for (;;) {
      if (waiters.size === 0 || !sameSpec(spec, options.spec())) return false;
      const leftMs = untilMs - options.clock.nowMs();
      if (leftMs <= 0) return true;
      await nap(Math.min(Math.ceil(leftMs), RECHECK_MS));
    }
  }

  async function nap(ms: number): Promise<void> {
    wake = new AbortController();
    if (waiters.size === 0) return;
    // Rejects only when `wake` aborts.
    await options.clock.sleep(ms, wake.signal).catch(() => undefined);
  }

  function ensureFeeding(): void {
    if (feeding) return;
    feeding = true;
    feed()
      .catch((error) => failAll(waiters, error))
      .finally(() => {
        feeding = false;
        if (waiters.size > 0) ensureFeeding();
      });
  }

  return {
    waiting: () => waiters.size,
    take: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (waiters.size === 0 && options.spec() === null) return Promise.resolve();
      const turn = waitAmong(waiters, signal, () => wake.abort());
      ensureFeeding();
      return turn;
    },
  };
}

/** Waits until a token is passed. `onLast` is called when the last waiter has left. */
function waitAmong(waiters: Set<Waiter>, signal: AbortSignal, onLast: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      signal.removeEventListener("abort", abandon);
      waiters.delete(waiter);
      if (waiters.size === 0) onLast();
    };
    const waiter: Waiter = {
      pass: () => {
        leave();
        resolve();
      },
      fail: (error) => {
        leave();
        reject(error);
      },
    };
    const abandon = () => waiter.fail(signal.reason);
    signal.addEventListener("abort", abandon, { once: true });
    waiters.add(waiter);
  });
}

function passFirst(waiters: Set<Waiter>, count: number): void {
  let left = count;
  for (const waiter of waiters) {
    if (left-- <= 0) return;
    waiter.pass();
  }
}

function failAll(waiters: Set<Waiter>, error: unknown): void {
  for (const waiter of [...waiters]) waiter.fail(error);
}

/** Half the time in which the bucket fills up: collecting for longer would let it overflow and lose rate. */
function collectMs({ ratePerSecond, burst, lent = 0 }: BucketSpec): number {
  if (lent > 0) return 0;
  return ratePerSecond === 0 ? COLLECT_MS : Math.min(COLLECT_MS, ((burst / ratePerSecond) * 1000) / 2);
}

function sameSpec(a: BucketSpec, b: BucketSpec | null): boolean {
  return (
    b !== null && a.key === b.key && a.ratePerSecond === b.ratePerSecond && a.burst === b.burst && a.lent === b.lent
  );
}
