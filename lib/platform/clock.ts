/**
 * The only place that touches Date.now, performance.now and timers. Everything that decides takes a Clock, so a test
 * can move time by hand and a wall clock that jumps an hour changes no delay.
 */
export type Clock = {
  /** Monotonic milliseconds since an arbitrary origin: for every delay, deadline and latency. */
  nowMs(): number;
  /** Wall clock, epoch milliseconds: for audit rows, ids and HTTP dates only. */
  wallMs(): number;
  /** Resolves after `ms` milliseconds; rejects with `signal.reason` at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` milliseconds unless the returned function is called first. */
  timer(ms: number, fire: () => void): () => void;
};

/** setTimeout overflows above 2^31-1 ms and would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(handle);
        reject(signal?.reason);
      };
      const handle = setTimeout(
        () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
        Math.min(Math.max(ms, 0), TIMER_MS_MAX),
      );
      signal?.addEventListener("abort", stop, { once: true });
    }),
  timer: (ms, fire) => {
    const handle = setTimeout(fire, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    return () => clearTimeout(handle);
  },
};

/** What the work gives, or null when it takes longer than `ms`; it then goes on, and its end is not looked at. */
export async function atMost<T>(clock: Pick<Clock, "timer">, ms: number, work: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const cancel = clock.timer(ms, () => late.resolve(null));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

/** Does work with a signal that aborts after `ms` milliseconds. */
export async function within<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const cancel = clock.timer(ms, () => late.abort(new DOMException(`no end within ${ms} ms`, "TimeoutError")));
  try {
    return await work(late.signal);
  } finally {
    cancel();
  }
}
