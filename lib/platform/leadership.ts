import { EventEmitter, once } from "node:events";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";

export type Leadership = {
  /** A heartbeat of this worker was written. @param sentMs when it was sent, monotonic */
  seen(beat: { oldest: boolean; sentMs: number }): void;
  /** Resolves with true as soon as this worker leads, with false when the signal aborts. */
  leads(signal: AbortSignal): Promise<boolean>;
};

/**
 * Whether this worker runs the rounds that one worker runs for all: the oldest live one, by its last heartbeat. A heartbeat
 * counts for `lostMs` from before it was sent, so a worker stops leading before others give it up. Two workers may lead for
 * a moment.
 */
export function createLeadership({ clock, log, lostMs }: { clock: Clock; log: Log; lostMs: number }): Leadership {
  const beats = new EventEmitter().setMaxListeners(0);
  let oldest = false;
  let untilMs = Number.NEGATIVE_INFINITY;
  const leading = () => oldest && clock.nowMs() < untilMs;
  return {
    seen: (beat) => {
      if (beat.oldest !== oldest)
        log.info(beat.oldest ? "this worker leads: it runs the rounds" : "another worker leads");
      oldest = beat.oldest;
      untilMs = beat.sentMs + lostMs;
      beats.emit("seen");
    },
    leads: async (signal) => {
      // Rejects only on abort.
      while (!signal.aborted && !leading()) await once(beats, "seen", { signal }).catch(() => undefined);
      return !signal.aborted;
    },
  };
}
