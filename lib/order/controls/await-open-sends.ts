import type { Deps } from "@/lib/lane/deps";
import { openSends, type StopScope } from "@/lib/order/controls/open-sends.read";

/** A stop waits at most this long for the sends under way, because a person waits for the answer. */
const WAIT_MS = 2_000;
/** Pauses between two queries: short at first, since most sends take a few milliseconds. */
const LOOK_MS = 10;
const LOOK_MS_MAX = 100;

/** Yields at once and after each pause, for two seconds. */
export async function* looks(clock: Deps["clock"]): AsyncGenerator<void> {
  const untilMs = clock.nowMs() + WAIT_MS;
  for (let lookMs = LOOK_MS; ; lookMs = Math.min(lookMs * 2, LOOK_MS_MAX)) {
    yield;
    if (clock.nowMs() >= untilMs) return;
    await clock.sleep(lookMs);
  }
}

/**
 * Waits, at most two seconds, until no event of a stopped scope is being sent any more. Call it after the stop has
 * committed: from then on no send of the scope begins, so the sends found here are complete. Resolves with the number
 * of events that were still being sent; null = the store did not answer.
 */
export async function awaitOpenSends(
  deps: Pick<Deps, "db" | "clock" | "log">,
  scope: StopScope,
): Promise<number | null> {
  try {
    let open: string[] = [];
    for await (const _ of looks(deps.clock)) {
      open = await openSends(deps.db, scope);
      if (open.length === 0) break;
    }
    return open.length;
  } catch (error) {
    // The stop is committed: the answer must not report a failure.
    deps.log.warn({ err: error }, "sends under way not counted");
    return null;
  }
}
