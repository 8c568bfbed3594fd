import type { Clock } from "@/lib/platform/clock";
import type { Leadership } from "@/lib/platform/leadership";
import type { Log } from "@/lib/platform/log";

export type RegularWork = {
  name: string;
  /** From the end of one round to the start of the next, milliseconds. */
  everyMs: number;
  work: (signal: AbortSignal) => Promise<unknown>;
};

export type Running = { stop(): Promise<void> };

/**
 * Runs each piece of work repeatedly, never twice at the same time, each by itself: one that hangs delays no other.
 * Consecutive failures are logged once, and the work is tried again: each piece of work is idempotent.
 *
 * @param leadership given, a round waits until this worker leads
 */
export function startRegularWork(
  rounds: readonly RegularWork[],
  { clock, log, leadership }: { clock: Clock; log: Log; leadership?: Leadership },
): Running {
  const stopping = new AbortController();
  const mayRun = leadership?.leads ?? (async (signal: AbortSignal) => !signal.aborted);
  const running = rounds.map((round) => repeat(round, mayRun, { clock, log, signal: stopping.signal }));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function repeat(
  round: RegularWork,
  mayRun: Leadership["leads"],
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  let failing = false;
  while (await mayRun(signal)) {
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
