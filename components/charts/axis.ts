const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const TIME_STEPS_MS = [
  10_000,
  30_000,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  30 * DAY,
];

/**
 * Round moments between two, at most `most` of them: full hours rather than 13:07, 14:21.
 *
 * @param offsetMs east of UTC, so that a day begins at midnight in the zone shown
 */
export function timeTicks(fromMs: number, toMs: number, most: number, offsetMs = 0): number[] {
  const step = TIME_STEPS_MS.find((candidate) => (toMs - fromMs) / candidate <= most) ?? TIME_STEPS_MS.at(-1)!;
  const ticks: number[] = [];
  for (let tick = Math.ceil((fromMs + offsetMs) / step) * step - offsetMs; tick <= toMs; tick += step) ticks.push(tick);
  return ticks.slice(-most - 1);
}

/** Round values from 0 to `max` or above it, at most six; `least` = the smallest distance. */
export function valueTicks(max: number, least: number): number[] {
  const decade = max > 0 ? 10 ** Math.floor(Math.log10(max / 4)) : least;
  const step = Math.max(least, [1, 2, 5, 10].map((factor) => factor * decade).find((each) => max / each <= 4) ?? least);
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, index) => index * step);
}

const SPANS_MS = [1_000, 10_000, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY];

/** Ticks of a logarithmic axis of durations: around and between the smallest and the largest. */
export function durationTicks(minMs: number, maxMs: number): number[] {
  const below = SPANS_MS.findLast((span) => span <= minMs) ?? SPANS_MS[0]!;
  const above = SPANS_MS.find((span) => span >= maxMs) ?? maxMs;
  return [...new Set([...SPANS_MS.filter((span) => span >= below && span <= above), above])];
}
