/** How many parked events were first seen in the hour that starts at `hourMs` (epoch milliseconds). */
export type HourCount = { hourMs: number; n: number };

const HOUR_MS = 3_600_000;

/**
 * The age below which a `share` (0..1) of the events lies, at `atMs`. Within its hour an event is taken as evenly
 * spread, so the answer is within an hour of the truth. null when there are none.
 */
export function agePercentile(hours: readonly HourCount[], share: number, atMs: number): number | null {
  return agePercentiles(hours, [share], atMs)[0]!;
}

/** Several shares of the same events: a chart asks for three at each of a hundred moments. */
export function agePercentiles(
  hours: readonly HourCount[],
  shares: readonly number[],
  atMs: number,
): (number | null)[] {
  const youngestFirst = hours.filter(({ hourMs, n }) => n > 0 && hourMs < atMs).sort((a, b) => b.hourMs - a.hourMs);
  const total = youngestFirst.reduce((sum, { n }) => sum + n, 0);
  return shares.map((share) => (total === 0 ? null : ageBelow(youngestFirst, share * total, atMs)));
}

/** The age of the event at `place`, counted from the youngest. */
function ageBelow(youngestFirst: readonly HourCount[], place: number, atMs: number): number {
  let below = place;
  for (const { hourMs, n } of youngestFirst) {
    if (below <= n) {
      const newest = Math.min(hourMs + HOUR_MS, atMs);
      return Math.max(0, Math.round(atMs - newest + (below / n) * (newest - hourMs)));
    }
    below -= n;
  }
  return Math.max(0, atMs - youngestFirst.at(-1)!.hourMs);
}

/**
 * What was parked at the end of each of `atMs` (ascending), by hour of first sight. Known are what arrived in each hour
 * and what of it is still there; of what left, only when something left, not what: it is taken that the oldest left
 * first. So the past is an estimate, and the present is exact.
 */
export function parkedHoursAt(
  history: { arrived: readonly HourCount[]; present: readonly HourCount[]; left: readonly HourCount[] },
  atMs: readonly number[],
): HourCount[][] {
  const remains = new Map(history.present.map(({ hourMs, n }) => [hourMs, n]));
  const gone = new Map<number, number>();
  for (const { hourMs, n } of history.arrived) gone.set(hourMs, Math.max(0, n - (remains.get(hourMs) ?? 0)));
  const left = [...history.left].sort((a, b) => a.hourMs - b.hourMs);
  const queue = [...gone.keys()].sort((a, b) => a - b);
  const hours = [...new Set([...remains.keys(), ...gone.keys()])];
  let next = 0;
  return atMs.map((at) => {
    for (; next < left.length && left[next]!.hourMs + HOUR_MS <= at; next++) {
      leave(gone, queue, left[next]!);
    }
    return hours
      .filter((hourMs) => hourMs < at)
      .map((hourMs) => ({ hourMs, n: (remains.get(hourMs) ?? 0) + (gone.get(hourMs) ?? 0) }));
  });
}

/** Takes what left in one hour from the oldest that had arrived by then. */
function leave(gone: Map<number, number>, queue: number[], { hourMs, n }: HourCount): void {
  let rest = n;
  for (const arrived of queue) {
    if (rest === 0 || arrived > hourMs) return;
    const taken = Math.min(rest, gone.get(arrived)!);
    gone.set(arrived, gone.get(arrived)! - taken);
    rest -= taken;
  }
}
