import { USUAL_DAYS } from "@/lib/observe/baseline.pure";
import { narrowFromMs } from "@/lib/observe/flow.pure";

/** Epoch milliseconds; `toMs` is outside. */
export type Window = { fromMs: number; toMs: number };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The same hours on the days before, the latest first: what usually arrives is counted over them. A window of more than a day
 * is moved by as many whole days as it is long. A day counts when the flow was kept all through its window, and as finely as
 * the window is cut: what is older than a week is kept by the hour.
 *
 * @param sinceMs the start of the flow; null = nothing ever arrived
 */
export function windowsBefore(
  { fromMs, toMs }: Window,
  { sinceMs, nowMs }: { sinceMs: number | null; nowMs: number },
): Window[] {
  if (sinceMs === null) return [];
  // A window of a day begins at a full minute, so it may be longer by less than one.
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs - MINUTE_MS) / DAY_MS)) * DAY_MS;
  const byHour = fromMs % HOUR_MS === 0 && toMs % HOUR_MS === 0;
  const oldestMs = byHour ? sinceMs : Math.max(sinceMs, narrowFromMs(nowMs));
  return Array.from({ length: USUAL_DAYS }, (_, index) => ({
    fromMs: fromMs - (index + 1) * stepMs,
    toMs: toMs - (index + 1) * stepMs,
  })).filter((window) => window.fromMs >= oldestMs);
}
