import type { Deps } from "@/lib/operations/deps";
import { openSends, type StopScope } from "@/lib/store/read/open-sends";

/** A stop waits this long for the sends under way: a person waits for the answer. */
const WAIT_MS = 2_000;
/** Between two looks: short at first, since most sends take a few milliseconds. */
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
 * Waits, at most two seconds, until nothing of a stopped scope is being sent any more. Called after the stop has
 * committed: no send of the scope begins after that, so what is found here is all there is. Resolves with how many
 * events were still being sent; null = the store did not say.
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
    // What was asked for is committed: the answer must not say that it failed.
    deps.log.warn({ err: error }, "sends under way not counted");
    return null;
  }
}
