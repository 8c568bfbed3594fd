import { useQuery } from "@tanstack/react-query";
import type { Meanings } from "@/lib/events/meanings.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { ID_NAMES, type IdName } from "@/lib/selection/filter/filter-params.shapes";
import { eventsHref } from "./filter-read.browser";
import { addTerm, applySearch, parseSearch, shownTerm, type Term } from "./qualified-search.browser";

/** The longest time a person waits for the look-up; after it the text is searched as words. */
const LOOKUP_MS = 2_000;

function fetchMeanings(text: string, signal?: AbortSignal): Promise<Meanings> {
  const query = new URLSearchParams({ text });
  return fetchJson<Meanings>(`/api/v1/events/meanings?${query}`, { signal, timeoutMs: LOOKUP_MS });
}

/** null after a failed look-up. */
async function lookedUp(text: string): Promise<Meanings | null> {
  try {
    return await fetchMeanings(text);
  } catch {
    return null;
  }
}

/** The first match of an id: the id of an event, else a source's event id, an aggregate, a trace. */
function bestMeaning({ text, event, names }: Meanings): { event: string } | { name: IdName; value: string } | null {
  if (event) return { event: event.id };
  const named = names.find(({ count }) => count !== null && count > 0);
  return named ? { name: named.name, value: text } : null;
}

/** `errorCode:timeout` and `-errorCode:timeout` mean TIMEOUT when no code is written as typed. */
async function writtenAsStored(term: Term): Promise<Term> {
  if (shownTerm(term).name !== "errorCode") return term;
  const codes = (await lookedUp(term.value))?.errorCodes ?? [];
  return codes[0] === undefined || codes.includes(term.value) ? term : { ...term, value: codes[0] };
}

/**
 * The page of a search. A text that is an id leads to the object of that id; any other text restricts the list by
 * `filter`, which is the filter of the list or empty.
 */
export async function searchHref(text: string, filter: EventFilter): Promise<string> {
  const { terms, words } = parseSearch(text);
  if (terms.length === 0) {
    const meanings = await lookedUp(words);
    const best = meanings ? bestMeaning(meanings) : null;
    if (best && "event" in best) return `/events/${encodeURIComponent(best.event)}`;
    if (best) return eventsHref({ [best.name]: [best.value] });
    return eventsHref(applySearch(filter, text));
  }
  const written = await Promise.all(terms.map(writtenAsStored));
  const narrowed = written.reduce(addTerm, filter);
  return eventsHref(words === "" ? narrowed : { ...narrowed, q: words });
}

/** The text of a filter that is only one id or a few words, which may have other meanings. */
export function searchedText(filter: EventFilter): { name: IdName | "q"; text: string } | null {
  const { from: _from, to: _to, ...rest } = filter;
  const [name, ...others] = Object.keys(rest);
  if (name === undefined || others.length > 0) return null;
  if (name === "q") return { name, text: rest.q! };
  const idName = ID_NAMES.find((id) => id === name);
  const values = idName ? rest[idName] : undefined;
  return idName && values?.length === 1 ? { name: idName, text: values[0]! } : null;
}

export function useMeanings(text: string | null) {
  return useQuery({
    queryKey: keys.events.meanings(text ?? ""),
    queryFn: ({ signal }) => fetchMeanings(text ?? "", signal),
    enabled: text !== null && text.trim() !== "",
    staleTime: 30_000,
    // Optional: without an answer the line is empty.
    retry: false,
  });
}
