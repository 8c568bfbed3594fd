export type Trend = { kind: "new" | "rising" | "falling" | "steady" | "quiet"; words: string };

/** A change of the hourly count below this factor is noise. */
const NOTABLE = 2;

/**
 * The last complete hour compared with the hours before it. The running hour is incomplete: it can show a rise, never a
 * fall.
 *
 * @param hourly parked events per hour, oldest first; the last is the running hour
 */
export function trendOf(hourly: number[]): Trend {
  const running = hourly.at(-1) ?? 0;
  const last = hourly.at(-2) ?? 0;
  const before = hourly.slice(0, -2);
  const usual = before.length === 0 ? 0 : before.reduce((sum, count) => sum + count, 0) / before.length;
  const recent = running + last;
  if (usual === 0) {
    if (recent === 0) return { kind: "quiet", words: "quiet for 24 h" };
    return { kind: "new", words: `${recent.toLocaleString("en-US")} since the last full hour, none before` };
  }
  const most = Math.max(running, last);
  if (most >= usual * NOTABLE) return { kind: "rising", words: `rising: ${times(most / usual)} the usual hour` };
  if (recent === 0) return { kind: "falling", words: "none in the last hour" };
  if (most <= usual / NOTABLE) return { kind: "falling", words: "falling" };
  return { kind: "steady", words: "steady" };
}

function times(factor: number): string {
  return `${factor >= 10 ? Math.round(factor) : Math.round(factor * 10) / 10} ×`;
}
