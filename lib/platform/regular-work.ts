import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";

export type RegularWork = {
  name: string;
  /** From the end of one round to the start of the next, milliseconds. */
  everyMs: number;
  work: (signal: AbortSignal) => Promise<unknown>;
};

export type Running = { stop(): Promise<void> };

/**
 * Runs each piece of work repeatedly, never twice at the same time. Consecutive failures are logged once, and the work
 * is tried again: each piece of work is idempotent.
 */
export function startRegularWork(rounds: readonly RegularWork[], { clock, log }: { clock: Clock; log: Log }): Running {
  const stopping = new AbortController();
  const running = rounds.map((round) => repeat(round, { clock, log, signal: stopping.signal }));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function repeat(
  round: RegularWork,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    try {
      await round.work(signal);
      if (failing) log.info({ round: round.name }, "round works again");
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ round: round.name, err: error }, "round failed, it is tried again");
      failing = true;
    }
    // The sleep rejects early only on stop.
    await clock.sleep(round.everyMs, signal).catch(() => undefined);
  }
}
