export type Trend = { kind: "new" | "rising" | "falling" | "steady" | "quiet"; words: string };

/** A factor between the last hour and the usual one below which a change is noise. */
const NOTABLE = 2;

/**
 * What the last hour is against the hours before it.
 *
 * @param hourly parked per hour, oldest first; the last is the running hour
 */
export function trendOf(hourly: number[]): Trend {
  const last = hourly.at(-1) ?? 0;
  const before = hourly.slice(0, -1);
  const usual = before.length === 0 ? 0 : before.reduce((sum, count) => sum + count, 0) / before.length;
  if (last === 0 && usual === 0) return { kind: "quiet", words: "quiet for 24 h" };
  if (usual === 0) return { kind: "new", words: `${last.toLocaleString("en-US")} this hour, none before` };
  if (last >= usual * NOTABLE) return { kind: "rising", words: `rising: ${times(last / usual)} the usual hour` };
  if (last <= usual / NOTABLE) return { kind: "falling", words: last === 0 ? "none this hour" : "falling" };
  return { kind: "steady", words: "steady" };
}

function times(factor: number): string {
  return `${factor >= 10 ? Math.round(factor) : Math.round(factor * 10) / 10} ×`;
}
