/** The scroll position and the active row of a list that was left, by the query of its filter. */
type ListPlace = { scrollTop: number; activeId: string | null };

const places = new Map<string, ListPlace>();
/** The number of lists whose position is kept in this tab. */
const PLACES_MAX = 20;

/** The last thing a person did was a step of the browser history: the list that appears then is returned to. */
let stepped = false;
if (typeof window !== "undefined") {
  window.addEventListener("popstate", () => {
    stepped = true;
  });
  for (const press of ["pointerdown", "keydown"]) {
    window.addEventListener(press, () => (stepped = false), { capture: true });
  }
}

export function rememberPlace(query: string, place: ListPlace): void {
  places.delete(query);
  places.set(query, place);
  const oldest = places.keys().next();
  if (places.size > PLACES_MAX && !oldest.done) places.delete(oldest.value);
}

/** The position to restore; null when the list is opened anew, at its newest row. */
export function placeToReturnTo(query: string): ListPlace | null {
  return stepped ? (places.get(query) ?? null) : null;
}
