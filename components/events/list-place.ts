/** Where a list was left: how far it was scrolled and which row was active. By the query of its filter. */
export type ListPlace = { scrollTop: number; activeId: string | null };

const places = new Map<string, ListPlace>();
/** Lists whose place is remembered in this tab. */
const PLACES_MAX = 20;

/** A list that appears this soon after a step of the history was come back to. */
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

/** The place to go back to; null when the list is opened anew: then it begins at its newest row. */
export function placeToReturnTo(query: string): ListPlace | null {
  return performance.now() - steppedAtMs < BACK_MS ? (places.get(query) ?? null) : null;
}
