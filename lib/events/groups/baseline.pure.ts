/** What usually arrives: the median of the same hours on previous days, with its spread. Every page and alert judges by it. */
export type Usual = {
  /** Events, the median over the days. */
  median: number;
  /** Events: 1.4826 times the median distance from the median, and not less than chance alone makes of that number. */
  spread: number;
  days: number;
};

/** The days before that are counted: a week has each day of the week once. */
export const USUAL_DAYS = 7;
/** Fewer days say nothing of what is usual. */
const DAYS_MIN = 3;
/** 1.4826 makes the median distance the standard deviation of normally distributed numbers (Rousseeuw and Croux, 1993). */
const NORMAL = 1.4826;

/** @param counts of the same hours on each of the days before; null = too few days are known */
export function usualOf(counts: readonly number[]): Usual | null {
  if (counts.length < DAYS_MIN) return null;
  const median = medianOf(counts);
  const distance = NORMAL * medianOf(counts.map((count) => Math.abs(count - median)));
  // The standard deviation of a count of independent events is the root of their expected number (Poisson).
  return { median, spread: Math.max(distance, Math.sqrt(Math.max(median, 1))), days: counts.length };
}

function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** `unknown`: too few days are known. */
export type Trend = "rising" | "usual" | "falling" | "unknown";

/** Spreads above the median that chance hardly reaches, and the factor below which a difference is of no use to a person. */
const SPREADS = 3;
const FACTOR_MIN = 1.5;

/** Whether so many arrivals are more or fewer than usual. */
export function trendOf(count: number, usual: Usual | null): Trend {
  if (usual === null) return "unknown";
  const { median, spread } = usual;
  if (count > median + SPREADS * spread && count >= FACTOR_MIN * median) return "rising";
  if (count < median - SPREADS * spread && count * FACTOR_MIN <= median) return "falling";
  return "usual";
}

/** How many times the usual number arrived; null = unknown, or usually none. */
export function factorOf(count: number, usual: Usual | null): number | null {
  return usual === null || usual.median === 0 ? null : count / usual.median;
}

/** The largest number of arrivals that is as usual; null = too few days are known. */
export function usualMaxOf(usual: Usual | null): number | null {
  if (usual === null) return null;
  const { median, spread } = usual;
  return Math.max(median + SPREADS * spread, FACTOR_MIN * median);
}
