/** Events per second each source's target takes, by source name; null = unlimited. */
export type LaneRates = Readonly<Record<string, number | null>>;

/**
 * Events per second a redrive moves at: its targets work in parallel, each at its own rate, and the redrive's own rate
 * bounds the sum. null = unlimited.
 */
export function effectiveRate(asked: number | null, sources: readonly string[], rates: LaneRates): number | null {
  const limits = sources.map((source) => rates[source] ?? null);
  const known = limits.filter((rate): rate is number => rate !== null);
  const together =
    known.length < limits.length || limits.length === 0 ? null : known.reduce((sum, rate) => sum + rate, 0);
  if (asked === null || together === null) return asked ?? together;
  return Math.min(asked, together);
}

/** Milliseconds to send so many events of each source; null when nothing limits it. The slowest target decides. */
export function sendTimeMs(
  asked: number | null,
  bySource: Readonly<Record<string, number>>,
  rates: LaneRates,
): number | null {
  const total = Object.values(bySource).reduce((sum, count) => sum + count, 0);
  const times = Object.entries(bySource)
    .map(([source, count]) => ({ count, rate: rates[source] ?? null }))
    .concat({ count: total, rate: asked })
    .filter((part): part is { count: number; rate: number } => part.rate !== null)
    .map(({ count, rate }) => Math.ceil((count / rate) * 1000));
  return times.length === 0 ? null : Math.max(...times);
}
