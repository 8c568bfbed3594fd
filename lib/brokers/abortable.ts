import type { Clock } from "@/lib/platform/clock";

/**
 * What `work` gives, or rejects with `signal.reason` as soon as that aborts, after `onAbort`. The work itself goes on, and
 * what it gives later is not looked at.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal, onAbort?: () => void): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => {
    onAbort?.();
    reject(signal.reason);
  };
  work.catch(() => undefined); // its caller may have gone
  signal.addEventListener("abort", aborted, { once: true });
  try {
    if (signal.aborted) aborted();
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}

type Limit = { signal: AbortSignal; clock: Pick<Clock, "timer">; ms: number; late: () => Error };

/** As `abortable`, and rejects with `late()` when the work takes longer than `ms`. */
export async function abortableWithin<T>(work: Promise<T>, { signal, clock, ms, late }: Limit): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.timer(ms, () => reject(late()));
  try {
    return await abortable(Promise.race([promise, work]), signal);
  } finally {
    stopTimer();
  }
}
