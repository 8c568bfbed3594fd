import { trendOf, USUAL_DAYS, type Usual, usualOf } from "@/lib/events/groups/baseline.pure";

const HOURS_A_DAY = 24;
/** Hours that only say what is usual: no onset is looked for in them. */
export const HISTORY_HOURS = USUAL_DAYS * HOURS_A_DAY;
/** Hours as usual that end a rise: a consumer that is restarted is quiet for less, a night shift for more. */
const QUIET_HOURS = 6;

/** What usually arrives in each of these hours: the median of the same hour on the USUAL_DAYS days before, with its spread. */
export function usualByHour(hours: readonly number[], knownFrom = 0): (Usual | null)[] {
  return hours.map((_, at) => usualAt(hours, at, knownFrom));
}

function usualAt(hours: readonly number[], at: number, knownFrom: number): Usual | null {
  const before = Array.from({ length: USUAL_DAYS }, (_, day) => at - (day + 1) * HOURS_A_DAY);
  return usualOf(before.filter((hour) => hour >= Math.max(0, knownFrom)).map((hour) => hours[hour]!));
}

export type Onset = {
  /** The place of the hour. */
  hour: number;
  /** What usually arrives in that hour; null = too few days are known. */
  usual: number | null;
};

/**
 * The hour in which the present rise began: the first hour of the last run of hours whose arrivals left their usual range (more
 * than the median of the same hour on the seven days before by three spreads and by half, `trendOf` in baseline.pure.ts, ADR
 * 0138). A run goes on over at most QUIET_HOURS hours within the range. An hour of which too few days are known is outside of
 * its range when anything arrived. null: no hour left its range.
 *
 * @param hours arrivals by the hour, the earliest first, up to the hour that is not over; the first HISTORY_HOURS say what is usual
 * @param knownFrom the place of the first hour in which the store kept the flow
 */
export function onsetOf(hours: readonly number[], knownFrom = 0): Onset | null {
  // From the end, as far as the run reaches: a list has this of each group that rises.
  const isOutside = (at: number) => {
    const trend = trendOf(hours[at]!, usualAt(hours, at, knownFrom));
    return trend === "unknown" ? hours[at]! > 0 : trend === "rising";
  };
  let first: number | null = null;
  for (let at = hours.length - 1; at >= HISTORY_HOURS; at--) {
    if (first !== null && first - at > QUIET_HOURS + 1) break;
    if (isOutside(at)) first = at;
  }
  return first === null ? null : { hour: first, usual: usualAt(hours, first, knownFrom)?.median ?? null };
}

/**
 * The minute of the onset's hour: the first by whose end more had arrived than usually arrives in that whole hour.
 *
 * @param minutes arrivals by the minute of the hour, in order
 */
export function onsetMinute<Minute extends { atMs: number; n: number }>(
  minutes: readonly Minute[],
  usual: number | null,
): number | null {
  let sum = 0;
  for (const { atMs, n } of minutes) {
    sum += n;
    if (sum > (usual ?? 0)) return atMs;
  }
  return null;
}
