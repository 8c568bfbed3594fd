import { OTHER } from "@/components/charts/size-series";

const COLOURS = 6;

/** Common error codes. Each has a fixed colour in every chart. */
const PLACES: Record<string, number> = {
  VALIDATION_ERROR: 0,
  UPSTREAM_5XX: 1,
  TIMEOUT: 2,
  UPSTREAM_4XX: 3,
  VERSION_CONFLICT: 4,
  IDEMPOTENCY_CONFLICT: 5,
};

/**
 * The colour of each series of a chart. It follows from the name, not from the rank, so that a code keeps its colour
 * when the window changes. When two names have the same colour, the later name takes the next free colour. `other` is
 * grey, because it is not one code.
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
