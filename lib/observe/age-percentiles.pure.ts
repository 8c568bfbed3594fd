/** How many parked events were first seen in the hour that starts at `hourMs` (epoch milliseconds). */
export type HourCount = { hourMs: number; n: number };

const HOUR_MS = 3_600_000;

/**
 * The ages below which these `shares` (0..1) of the events lie, at `atMs`; `hours` come youngest first. Within its hour an event is
 * taken as evenly spread, so an answer is within an hour of the truth. null when there are none.
 */
export function agePercentiles(
  hours: readonly HourCount[],
  shares: readonly number[],
  atMs: number,
): (number | null)[] {
  let total = 0;
  for (const hour of hours) total += parkedAt(hour, atMs);
  return shares.map((share) => (total === 0 ? null : ageBelow(hours, share * total, atMs)));
}

export const youngestFirst = (hours: readonly HourCount[]) => [...hours].sort((a, b) => b.hourMs - a.hourMs);

const parkedAt = ({ hourMs, n }: HourCount, atMs: number) => (hourMs < atMs && n > 0 ? n : 0);

/** The age of the event at `place`, counted from the youngest event. */
function ageBelow(hours: readonly HourCount[], place: number, atMs: number): number {
  let below = place;
  let oldestMs = atMs;
  for (const hour of hours) {
    const n = parkedAt(hour, atMs);
    if (n === 0) continue;
    oldestMs = hour.hourMs;
    if (below <= n) {
      const newest = Math.min(hour.hourMs + HOUR_MS, atMs);
      return Math.max(0, Math.round(atMs - newest + (below / n) * (newest - hour.hourMs)));
    }
    below -= n;
  }
  return Math.max(0, atMs - oldestMs);
}

/**
 * The parked events at the end of each of `atMs` (ascending), by hour of first sight, youngest first. Hours from `atMs`
 * on must be skipped. The data says how many events arrived in each hour, how many of them are still parked, and how
 * many left in each hour, but not which events left. The function assumes that the oldest left first. So the past is an
 * estimate, and the present is exact. Each step changes and yields the same list.
 */
export function* parkedHoursAt(
  history: { arrived: readonly HourCount[]; present: readonly HourCount[]; left: readonly HourCount[] },
  atMs: readonly number[],
): Generator<readonly HourCount[], void> {
  const parked = new Map<number, HourCount>();
  for (const { hourMs, n } of history.present) parked.set(hourMs, { hourMs, n });
  const leaving: { hour: HourCount; gone: number }[] = [];
  for (const { hourMs, n } of [...history.arrived].sort((a, b) => a.hourMs - b.hourMs)) {
    const hour = parked.get(hourMs) ?? { hourMs, n: 0 };
    parked.set(hourMs, hour);
    const gone = Math.max(0, n - hour.n);
    hour.n += gone;
    leaving.push({ hour, gone });
  }
  const hours = youngestFirst([...parked.values()]);
  const left = [...history.left].sort((a, b) => a.hourMs - b.hourMs);
  let oldest = 0;
  let next = 0;
  for (const at of atMs) {
    for (; next < left.length && left[next]!.hourMs + HOUR_MS <= at; next++) {
      oldest = takeOldest(leaving, oldest, left[next]!);
    }
    yield hours;
  }
}

/** Subtracts the events that left in one hour from the oldest hours. Returns the first hour that has events left. */
function takeOldest(leaving: { hour: HourCount; gone: number }[], first: number, { hourMs, n }: HourCount): number {
  let rest = n;
  let at = first;
  for (; at < leaving.length && rest > 0; at++) {
    const arrival = leaving[at]!;
    if (arrival.hour.hourMs > hourMs) return at;
    const taken = Math.min(rest, arrival.gone);
    arrival.gone -= taken;
    arrival.hour.n -= taken;
    rest -= taken;
    if (arrival.gone > 0) return at;
  }
  return at;
}
