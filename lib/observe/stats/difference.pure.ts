import type { Trend } from "@/lib/events/groups/baseline.pure";
import type { Verdict } from "@/lib/events/groups/group-verdict.pure";

/** Windows that are compared: the last one with the one before it. */
export const AGAINST_MS = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const;
export type Against = keyof typeof AGAINST_MS;

/** In the order of the list: what a person must look at first. */
export const DIFFERENCES = ["new", "back", "rising", "falling", "gone"] as const;
export type Difference = (typeof DIFFERENCES)[number];

export type Compared = {
  /** Arrivals in the last window, and in the one before. */
  now: number;
  before: number;
  /** That of the last window, as every page says it. */
  verdict: Verdict;
  /** Of the whole last window. */
  trend: Trend;
};

/**
 * null = no difference: a group that rises as it did a window ago is none. `gone`: a falling group without any arrival. A rise
 * of the window that is over is `falling`.
 */
export function differenceOf({ now, before, verdict, trend }: Compared): Difference | null {
  switch (verdict) {
    case "new":
    case "back":
      return verdict;
    case "rising":
      return now > before ? "rising" : null;
    case "falling":
      if (now >= before && (trend !== "rising" || now === before)) return null;
      return now === 0 ? "gone" : "falling";
    case "steady":
      return null;
  }
}

/** The list: by verdict, then by how many events more or fewer. */
export function byDifference<Row extends { verdict: Difference; now: number; before: number }>(rows: Row[]): Row[] {
  const rank = ({ verdict }: Row) => DIFFERENCES.indexOf(verdict);
  const size = ({ now, before }: Row) => Math.abs(now - before);
  return rows.toSorted((left, right) => rank(left) - rank(right) || size(right) - size(left));
}
