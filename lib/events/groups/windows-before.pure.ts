import { USUAL_DAYS } from "@/lib/events/groups/baseline.pure";

/** Epoch milliseconds; `toMs` is outside. */
export type Window = { fromMs: number; toMs: number };

/** Windows of the days before, the latest first. A number of one of them times `scale` is that of as long a time as was asked for. */
export type WindowsBefore = { windows: Window[]; scale: number };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** From this length on a window holds nearly every hour of the day. */
const WHOLE_DAYS_MS = 20 * HOUR_MS;

/**
 * The time over which what is usual is counted: the same hours on each of the days before, and for a window of about a day or
 * more as many whole UTC days. Full hours and days are read from a row each, and shorter windows are a part of their hour. A
 * day counts when the flow was kept all through its window.
 *
 * @param sinceMs the start of the flow; null = nothing ever arrived
 */
export function windowsBefore({ fromMs, toMs }: Window, sinceMs: number | null): WindowsBefore {
  // A window begins at a full minute and ends now: its length is that of its full minutes, whichever second it is.
  const askedMs = floorTo(toMs - fromMs, MINUTE_MS);
  const unitMs = askedMs >= WHOLE_DAYS_MS ? DAY_MS : HOUR_MS;
  const lengthMs = Math.max(1, Math.round(askedMs / unitMs)) * unitMs;
  const stepMs = Math.max(DAY_MS, lengthMs);
  // A part of an hour lies in its hour, and a longer window is moved to the nearest one.
  const startMs =
    unitMs === DAY_MS || askedMs < HOUR_MS ? floorTo(fromMs, unitMs) : floorTo(fromMs + HOUR_MS / 2, HOUR_MS);
  // Whole days end where the day of the window begins.
  const firstMs = unitMs === DAY_MS ? startMs - lengthMs : startMs - stepMs;
  const windows = Array.from({ length: USUAL_DAYS }, (_, index) => firstMs - index * stepMs)
    .map((start) => ({ fromMs: start, toMs: start + lengthMs }))
    .filter((window) => sinceMs !== null && window.fromMs >= sinceMs);
  return { windows, scale: askedMs / lengthMs };
}

function floorTo(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}
