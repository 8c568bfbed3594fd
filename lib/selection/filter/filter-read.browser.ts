import type { EventSort } from "@/lib/events/list/event-sort.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { foldTags, readNames, toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

/**
 * Parameters of the address that are not part of the filter: the open event, the tab, the open editor, the sort order. `order` is
 * read by no page, but saved addresses of the groups have it.
 */
export const PAGE_PARAMS = [
  "open",
  "tab",
  "edit",
  "revision",
  "with",
  "state",
  "waitsFor",
  "kind",
  "sort",
  "order",
  "verdict",
  "actor",
  "action",
  "subjectKind",
  "subjectId",
  "redriveId",
] as const;

export type ReadFilter = { filter: EventFilter; fault: null } | { filter: null; fault: DomainError };

/**
 * The filter of a query string, or its unknown names: an unknown name must not be read as a wider filter. The server
 * checks the values (`invalid-filter`), so the schema is not loaded in the browser.
 */
export function readFilter(params: URLSearchParams): ReadFilter {
  const { raw, faults } = readNames(params, PAGE_PARAMS);
  if (faults.length > 0) {
    const sentence = faults.map(({ field, detail }) => `${field}: ${detail}`).join("; ");
    return { filter: null, fault: new DomainError("invalid-filter", sentence, { fields: faults }) };
  }
  return { filter: foldTags(raw) as EventFilter, fault: null };
}

/** The query of a list: its filter and its order, names in one fixed order. */
export function listQuery(filter: EventFilter, sort: EventSort | null): string {
  const params = toSearchParams(filter);
  if (sort !== null) params.set("sort", sort);
  return params.toString();
}

/** `path?filter`, with the page's own parameters of `current`. */
export function filterHref(path: string, filter: EventFilter, current?: URLSearchParams): string {
  const params = toSearchParams(filter);
  if (current) {
    for (const name of PAGE_PARAMS) for (const value of current.getAll(name)) params.append(name, value);
  }
  const query = params.toString();
  return query === "" ? path : `${path}?${query}`;
}

export function eventsHref(filter: EventFilter): string {
  return filterHref("/events", filter);
}

/** A filter with some names replaced; `undefined` removes a name. */
export function withPart(filter: EventFilter, part: Partial<EventFilter>): EventFilter {
  const next: EventFilter = { ...filter, ...part };
  for (const [name, value] of Object.entries(part)) {
    if (value === undefined) delete next[name as keyof EventFilter];
  }
  return next;
}
