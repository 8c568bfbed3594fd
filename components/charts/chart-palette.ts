import { OTHER } from "@/components/charts/size-series";

const COLOURS = 6;

/** The codes that every store has: each keeps its colour whatever stands beside it. */
const PLACES: Record<string, number> = {
  VALIDATION_ERROR: 0,
  UPSTREAM_5XX: 1,
  TIMEOUT: 2,
  UPSTREAM_4XX: 3,
  VERSION_CONFLICT: 4,
  IDEMPOTENCY_CONFLICT: 5,
};

/**
 * The colour of each series of a chart, by its name and not by its rank, so that a code keeps its colour when the window
 * changes. Two names that would share one are told apart: the later one takes the next that is free. `other` is grey: it
 * is not one thing.
 */
export function seriesColours(keys: readonly string[]): Map<string, string> {
  const colours = new Map<string, string>();
  const taken = new Set<number>();
  const known = (key: string) => (Object.hasOwn(PLACES, key) ? 0 : 1);
  for (const key of [...keys].sort((a, b) => known(a) - known(b) || (a < b ? -1 : 1))) {
    if (key === OTHER) {
      colours.set(key, "var(--series-other)");
      continue;
    }
    let place = known(key) === 0 ? PLACES[key]! : placeOf(key);
    for (let step = 0; taken.has(place) && step < COLOURS; step++) place = (place + 1) % COLOURS;
    taken.add(place);
    colours.set(key, `var(--series-${place + 1})`);
  }
  return colours;
}

function placeOf(key: string): number {
  let hash = 0;
  for (const letter of key) hash = (hash * 31 + letter.charCodeAt(0)) % 9_973;
  return hash % COLOURS;
}
