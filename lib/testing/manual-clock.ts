import type { Clock } from "@/lib/platform/clock";

export type ManualClock = Clock & {
  /** Advances time by `ms`, runs the due timers in order and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, as an operator or NTP does. */
  jumpWall(ms: number): void;
  /** Timers and sleeps that have not ended: 0 at the end of a test shows that nothing leaked. */
  pending(): number;
};

type Timer = { atMs: number; fire: () => void };

/** A clock that stands still until the test moves it. */
export function manualClock({ nowMs = 1_000, wallMs = Date.UTC(2026, 0, 5, 3) } = {}): ManualClock {
  const timers = new Set<Timer>();
  let now = nowMs;
  let wall = wallMs;

  const timer: Clock["timer"] = (ms, fire) => {
    const mine: Timer = { atMs: now + Math.max(0, ms), fire };
    timers.add(mine);
    return () => timers.delete(mine);
  };
  const nextDue = (untilMs: number) => {
    let due: Timer | undefined;
    for (const one of timers) if (one.atMs <= untilMs && (!due || one.atMs < due.atMs)) due = one;
    return due;
  };
  return {
    nowMs: () => now,
    wallMs: () => wall,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const stop = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = timer(ms, () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        });
        signal?.addEventListener("abort", stop, { once: true });
      }),
    advance: async (ms) => {
      const untilMs = now + ms;
      await settle();
      for (let due = nextDue(untilMs); due; due = nextDue(untilMs)) {
        timers.delete(due);
        wall += due.atMs - now;
        now = due.atMs;
        due.fire();
        await settle();
      }
      wall += untilMs - now;
      now = untilMs;
    },
    jumpWall: (ms) => {
      wall += ms;
    },
    pending: () => timers.size,
  };
}

/** setImmediate runs after every promise callback that is ready, however long their chain. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
