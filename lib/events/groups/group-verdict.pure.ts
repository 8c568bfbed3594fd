import type { Trend } from "@/lib/events/groups/baseline.pure";
import { formatNumber } from "@/lib/platform/plain/format.pure";

/**
 * How the arrivals of a group in a window compare with what usually arrives. The overview, the groups, the page of a group, the
 * API and the alerts all decide by these functions.
 *
 * - `new`: it arrived, and never before the window;
 * - `back`: it arrived, and nothing of it had for BACK_QUIET_MS before the window;
 * - `rising`: more than usual, see `trendOf` in baseline.pure.ts, and still in the last hour of the window;
 * - `falling`: less than usual, or a rise that is over;
 * - `steady`: as usual, or too little is known.
 */
export const VERDICTS = ["new", "back", "rising", "steady", "falling"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** A week: whatever comes once a day or once a week is not gone between two times. */
const BACK_QUIET_MS = 7 * 86_400_000;

/** How a run of arrivals began; null: it goes on from before. `beforeMs`: the last arrival before `sinceMs`, null = none. */
export function beginningOf(
  { sinceMs, beforeMs }: { sinceMs: number; beforeMs: number | null },
  quietMs = BACK_QUIET_MS,
): "new" | "back" | null {
  if (beforeMs === null) return "new";
  return sinceMs - beforeMs >= quietMs ? "back" : null;
}

/** `fromMs`: the start of the window. `beforeMs`: the last arrival before it, null = none. Times are epoch milliseconds. */
export function verdictOf(group: { count: number; trend: Trend; fromMs: number; beforeMs: number | null }): Verdict {
  const { count, trend, fromMs, beforeMs } = group;
  const begun = count === 0 ? null : beginningOf({ sinceMs: fromMs, beforeMs });
  if (begun !== null) return begun;
  return trend === "rising" || trend === "falling" ? trend : "steady";
}

/** The average rate of the window below which the last hour ends a rise that left no trace in that hour's usual number. */
const STILL_RISES = 1 / 2;

/** Whether a rise of a window goes on: in its last hour too more arrived than usual, or about as much as in its other hours. */
export function risesStill(
  lastHour: { count: number; trend: Trend },
  window: { count: number; hours: number },
): boolean {
  return lastHour.trend === "rising" || lastHour.count >= (STILL_RISES * window.count) / window.hours;
}

/** Whether more arrives than usual, so that there is a time since when. */
export function isRise(verdict: Verdict): boolean {
  return verdict === "new" || verdict === "back" || verdict === "rising";
}

const WORDS: Record<Verdict, string> = {
  new: "new",
  back: "returned",
  rising: "rising",
  steady: "steady",
  falling: "falling",
};

/** The verdict in words, with the factor where there is one: `new`, `rising, 7.6 × usual`, `falling, 0.2 × usual`, of a
 * rise that is over `falling, was 7.6 × usual`. */
export function verdictWords({ verdict, factor }: { verdict: Verdict; factor: number | null }): string {
  const told = factor !== null && (verdict === "rising" || verdict === "falling");
  const was = verdict === "falling" && factor !== null && factor > 1 ? "was " : "";
  return told ? `${WORDS[verdict]}, ${was}${factorText(factor)} × usual` : WORDS[verdict];
}

/** `7.6`, `0.2`, `41`. */
function factorText(factor: number): string {
  if (factor > 0 && factor < 0.05) return "< 0.1";
  return factor < 10 ? String(Math.round(factor * 10) / 10) : formatNumber(Math.round(factor));
}
