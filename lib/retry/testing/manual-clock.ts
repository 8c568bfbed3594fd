import type { Clock } from "@/lib/retry/clock";

/** A clock that moves only when a test calls it. Wall and monotonic time can be moved separately. */
export type ManualClock = Clock & {
  /** Resolves after `ms` milliseconds; rejects with `signal.reason` at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Moves both times by `ms`, firing timers in order, each at its own moment, and lets promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Moves to the next timer and fires it; false when there is none. */
  next(): Promise<boolean>;
  /** Jumps the wall clock alone, as an NTP step or an operator would. */
  jumpWall(ms: number): void;
  /** Timers armed and not yet fired or cleared. */
  readonly timers: number;
};

type Timer = { dueMs: number; fire: () => void };

/** Turns of the microtask queue that are given to promises between timers: more than any chain in the engine is long. */
const TURNS = 50;

/** Lets all settled promises run their callbacks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
}

export function manualClock(start: { nowMs?: number; wallMs?: number } = {}): ManualClock {
  let nowMs = start.nowMs ?? 1_000;
  let wallMs = start.wallMs ?? Date.UTC(2026, 2, 17, 17, 37, 54);
  const timers = new Set<Timer>();

  const move = (toMs: number) => {
    wallMs += toMs - nowMs;
    nowMs = toMs;
  };
  const earliest = (): Timer | null => {
    let first: Timer | null = null;
    for (const timer of timers) if (first === null || timer.dueMs < first.dueMs) first = timer;
    return first;
  };
  const timer = (ms: number, fire: () => void) => {
    const entry = { dueMs: nowMs + ms, fire };
    timers.add(entry);
    return () => void timers.delete(entry);
  };
  const run = async (entry: Timer) => {
    timers.delete(entry);
    move(Math.max(nowMs, entry.dueMs));
    entry.fire();
    await settle();
  };

  return {
    nowMs: () => nowMs,
    wallMs: () => wallMs,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const stop = () => {
          disarm();
          reject(signal?.reason);
        };
        const disarm = timer(ms, () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        });
        signal?.addEventListener("abort", stop, { once: true });
      }),
    async advance(ms) {
      const untilMs = nowMs + ms;
      await settle();
      for (let entry = earliest(); entry !== null && entry.dueMs <= untilMs; entry = earliest()) await run(entry);
      move(untilMs);
      await settle();
    },
    async next() {
      await settle();
      const entry = earliest();
      if (entry !== null) await run(entry);
      return entry !== null;
    },
    jumpWall(ms) {
      wallMs += ms;
    },
    get timers() {
      return timers.size;
    },
  };
}
