import type { Clock } from "@/lib/platform/clock";

type PollOptions = { clock: Clock; signal: AbortSignal; everyMs: number; withinMs?: number | undefined };

/** Polls until `look` finds something. Resolves with none when `signal` fires or after `withinMs`; rejects as `look` does. */
export async function poll<T>(
  look: () => Promise<T[]>,
  { clock, signal, everyMs, withinMs = Number.POSITIVE_INFINITY }: PollOptions,
): Promise<T[]> {
  const untilMs = clock.nowMs() + withinMs;
  while (!signal.aborted && clock.nowMs() < untilMs) {
    const found = await look();
    // Also when `signal` has fired meanwhile: the session counts it as handed out, and would not find it again.
    if (found.length > 0) return found;
    await clock.sleep(Math.min(everyMs, untilMs - clock.nowMs()), signal).catch(() => undefined); // stopped
  }
  return [];
}
