"use client";

import { useSearchParams } from "next/navigation";
import { useCallback, useMemo } from "react";
import { type EventFilter, fromSearchParams, toSearchParams } from "@/lib/contract/event-filter";
import { DomainError } from "@/lib/core/problem";

/** Parameters of a page's address that are no part of the filter: the open event, the tab, the sort order. */
export const PAGE_PARAMS = ["open", "tab", "state", "kind", "sort", "actor", "action", "subjectKind"] as const;

export type ReadFilter = { filter: EventFilter; fault: null } | { filter: null; fault: DomainError };

/** The filter of a query string, or what is wrong with it: a wrong filter is never read as a wider one. */
export function readFilter(params: URLSearchParams): ReadFilter {
  try {
    return { filter: fromSearchParams(params, PAGE_PARAMS), fault: null };
  } catch (error) {
    if (error instanceof DomainError) return { filter: null, fault: error };
    throw error;
  }
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

/** Changes the address without asking the server for the page again; back and forward walk through the filters. */
export function pushAddress(href: string, how: "push" | "replace" = "push"): void {
  if (how === "push") window.history.pushState(null, "", href);
  else window.history.replaceState(null, "", href);
}

export type FilterState = ReadFilter & {
  setFilter: (next: EventFilter) => void;
  /** Merges into the filter; `undefined` takes a name out. */
  patch: (part: Partial<EventFilter>) => void;
};

/** The filter in the address: reload, share and the back button keep it. */
export function useEventFilter(): FilterState {
  const params = useSearchParams();
  const query = params.toString();
  const read = useMemo(() => readFilter(new URLSearchParams(query)), [query]);
  const setFilter = useCallback((next: EventFilter) => {
    pushAddress(filterHref(window.location.pathname, next, new URLSearchParams(window.location.search)));
  }, []);
  const patch = useCallback(
    (part: Partial<EventFilter>) => setFilter(withPart(read.filter ?? {}, part)),
    [read, setFilter],
  );
  return { ...read, setFilter, patch };
}

/** A filter with some names replaced; a name set to `undefined` is taken out. */
export function withPart(filter: EventFilter, part: Partial<EventFilter>): EventFilter {
  const next: EventFilter = { ...filter, ...part };
  for (const [name, value] of Object.entries(part)) {
    if (value === undefined) delete next[name as keyof EventFilter];
  }
  return next;
}

/** One parameter of the page itself (`open`, `tab`), in the address. */
export function usePageParam(name: (typeof PAGE_PARAMS)[number]): [string | null, (value: string | null) => void] {
  const params = useSearchParams();
  const set = useCallback(
    (value: string | null) => {
      const next = new URLSearchParams(window.location.search);
      if (value === null) next.delete(name);
      else next.set(name, value);
      const query = next.toString();
      // Replaced, not pushed: walking through fifty events is not fifty steps of the back button.
      pushAddress(query === "" ? window.location.pathname : `${window.location.pathname}?${query}`, "replace");
    },
    [name],
  );
  return [params.get(name), set];
}
