import type { EventFilter } from "@/lib/contract/event-filter";
import { foldTags, readNames, toSearchParams } from "@/lib/contract/filter-params";
import { DomainError } from "@/lib/core/problem";

/** Parameters of a page's address that are no part of the filter: the open event, the tab, the sort order. */
export const PAGE_PARAMS = [
  "open",
  "tab",
  "state",
  "kind",
  "sort",
  "actor",
  "action",
  "subjectKind",
  "subjectId",
  "redriveId",
] as const;

export type ReadFilter = { filter: EventFilter; fault: null } | { filter: null; fault: DomainError };

/**
 * The filter of a query string, or which of its names are wrong: a wrong filter is never read as a wider one. What the
 * values may be is the server's to say, in the place of the list (`invalid-filter`): its schema is not loaded here.
 */
export function readFilter(params: URLSearchParams): ReadFilter {
  const { raw, faults } = readNames(params, PAGE_PARAMS);
  if (faults.length > 0) {
    const sentence = faults.map(({ field, detail }) => `${field}: ${detail}`).join("; ");
    return { filter: null, fault: new DomainError("invalid-filter", sentence, { fields: faults }) };
  }
  return { filter: foldTags(raw) as EventFilter, fault: null };
}

/** `path?filter`, with the page's own parameters of `current` kept. */
export function filterHref(path: string, filter: EventFilter, current?: URLSearchParams): string {
  const params = toSearchParams(filter);
  if (current) {
    for (const name of PAGE_PARAMS) for (const value of current.getAll(name)) params.append(name, value);
  }
  const query = params.toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Link to the events list with a filter: what every tile, bar and slice points to. */
export function eventsHref(filter: EventFilter): string {
  return filterHref("/events", filter);
}

/** A filter with some names replaced; a name set to `undefined` is taken out. */
export function withPart(filter: EventFilter, part: Partial<EventFilter>): EventFilter {
  const next: EventFilter = { ...filter, ...part };
  for (const [name, value] of Object.entries(part)) {
    if (value === undefined) delete next[name as keyof EventFilter];
  }
  return next;
}
