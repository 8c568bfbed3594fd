import type { Clock } from "@/lib/platform/clock";

type PollOptions = { clock: Clock; signal: AbortSignal; everyMs: number; withinMs?: number | undefined };

/**
 * Looks until there is something, for brokers that are asked and do not push. Resolves with none when `signal` fires or
 * `withinMs` has passed while nothing was found; rejects as `look` does.
 */
export async function poll<T>(
  look: () => Promise<T[]>,
  { clock, signal, everyMs, withinMs = Number.POSITIVE_INFINITY }: PollOptions,
): Promise<T[]> {
  const untilMs = clock.nowMs() + withinMs;
  while (!signal.aborted && clock.nowMs() < untilMs) {
    const found = await look();
    // Also when `signal` has fired meanwhile: the session counts it as handed out, and would not find it again.
    if (found.length > 0) return found;
    await clock.sleep(everyMs, signal).catch(() => undefined); // stopped
  }
  return [];
}
