"use client";

import { useSearchParams } from "next/navigation";
import { useCallback, useMemo } from "react";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { filterHref, type PAGE_PARAMS, type ReadFilter, readFilter, withPart } from "./filter-read.browser";

/** Changes the address without a request for the page; the back and forward buttons move between the filters. */
export function pushAddress(href: string, how: "push" | "replace" = "push"): void {
  if (how === "push") window.history.pushState(null, "", href);
  else window.history.replaceState(null, "", href);
}

export type FilterState = ReadFilter & {
  setFilter: (next: EventFilter) => void;
  /** Merges into the filter; `undefined` removes a name. */
  patch: (part: Partial<EventFilter>) => void;
};

/** The filter in the address, so that reload, sharing and the back button keep it. */
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

/** One parameter of the page itself (`open`, `tab`), in the address. */
export function usePageParam(name: (typeof PAGE_PARAMS)[number]): [string | null, (value: string | null) => void] {
  const params = useSearchParams();
  const set = useCallback(
    (value: string | null) => {
      const next = new URLSearchParams(window.location.search);
      if (value === null) next.delete(name);
      else next.set(name, value);
      const query = next.toString();
      // Replaced, not pushed: fifty events in the side panel must not be fifty steps of the back button.
      pushAddress(query === "" ? window.location.pathname : `${window.location.pathname}?${query}`, "replace");
    },
    [name],
  );
  return [params.get(name), set];
}
