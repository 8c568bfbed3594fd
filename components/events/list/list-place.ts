/** The scroll position and the active row of a list that was left, by the query of its filter. */
export type ListPlace = { scrollTop: number; activeId: string | null };

const places = new Map<string, ListPlace>();
/** The number of lists whose position is kept in this tab. */
const PLACES_MAX = 20;

/** A list that appears within this time after a step of the browser history counts as a return to it. */
const BACK_MS = 5_000;
let steppedAtMs = Number.NEGATIVE_INFINITY;
if (typeof window !== "undefined") {
  window.addEventListener("popstate", () => {
    steppedAtMs = performance.now();
  });
}

export function rememberPlace(query: string, place: ListPlace): void {
  places.delete(query);
  places.set(query, place);
  const oldest = places.keys().next();
  if (places.size > PLACES_MAX && !oldest.done) places.delete(oldest.value);
}

/** The position to restore; null when the list is opened anew, at its newest row. */
export function placeToReturnTo(query: string): ListPlace | null {
  return performance.now() - steppedAtMs < BACK_MS ? (places.get(query) ?? null) : null;
}
