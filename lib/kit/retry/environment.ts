import type { Clock, Random } from "@/lib/retry/clock";

/** Time and chance of a user's service: the machine's own, unless the user passes others (tests do). */
export type Environment = {
  /** Default: the machine's clock. All timing is monotonic; wall time only reads HTTP dates. */
  clock?: Clock;
  /** Uniform in [0, 1). Default: `Math.random`. */
  random?: Random;
};

/** setTimeout fires at once above 2^31 - 1 ms; the engine arms a timer anew that fired before its time. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const MACHINE_CLOCK: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  timer(ms, fire) {
    const handle = setTimeout(fire, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(handle);
  },
};

export function environmentOf({ clock = MACHINE_CLOCK, random = Math.random }: Environment): Required<Environment> {
  return { clock, random };
}
