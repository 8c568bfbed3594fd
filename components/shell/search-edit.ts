const EVENT = "parkade:edit-search";

/** Puts a text into the search box to be changed there: what a click on a chip does. Box and chips live in different trees. */
export function editInSearch(text: string): void {
  document.dispatchEvent(new CustomEvent(EVENT, { detail: text }));
}

export function onSearchEdit(listener: (text: string) => void): () => void {
  const onEvent = (event: Event) => listener(String((event as CustomEvent).detail));
  document.addEventListener(EVENT, onEvent);
  return () => document.removeEventListener(EVENT, onEvent);
}
