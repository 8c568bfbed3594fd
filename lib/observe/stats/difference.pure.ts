import { type Trend, trendOf, type Usual } from "@/lib/observe/baseline.pure";

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
  /** The group was first seen in the last window. */
  isNew: boolean;
  usual: Usual | null;
};

/**
 * How a group differs from a window ago; null = it does not. Where it is known what is usual, only what the other pages call
 * rising or falling is a difference; else the window before stands for it, by the same measure.
 */
export function differenceOf({ now, before, isNew, usual }: Compared): Difference | null {
  if (now > 0 && isNew) return "new";
  const trend = judged(now, before, usual);
  if (trend === "rising" && now > before) return before === 0 ? "back" : "rising";
  if (trend === "falling" && now < before) return now === 0 ? "gone" : "falling";
  return null;
}

function judged(now: number, before: number, usual: Usual | null): Trend {
  if (usual !== null) return trendOf(now, usual);
  return trendOf(now, { median: before, spread: Math.sqrt(Math.max(before, 1)), days: 1 });
}

/** The list: by verdict, then by how many events more or fewer. */
export function byDifference<Row extends { verdict: Difference; now: number; before: number }>(rows: Row[]): Row[] {
  const rank = ({ verdict }: Row) => DIFFERENCES.indexOf(verdict);
  const size = ({ now, before }: Row) => Math.abs(now - before);
  return rows.toSorted((left, right) => rank(left) - rank(right) || size(right) - size(left));
}
