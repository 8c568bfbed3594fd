import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { EventFilter } from "@/lib/contract/event-filter";
import type { EventCounts, EventDetail, EventList, Neighbours } from "@/lib/contract/events";
import { toSearchParams } from "@/lib/contract/filter-params";
import { type ApiError, fetchJson } from "./fetch-json";
import { keys } from "./keys";
import { PAGE_ROWS } from "./page-rows";

/** How often the list looks for newcomers and for what became of the rows on screen. */
const LIST_POLL_MS = 5_000;
const COUNT_POLL_MS = 10_000;
const DETAIL_POLL_MS = 4_000;

function listPath(filter: EventFilter, cursor: string | null): string {
  const params = toSearchParams(filter);
  params.set("limit", String(PAGE_ROWS));
  if (cursor !== null) params.set("cursor", cursor);
  return `/api/v1/events?${params}`;
}

const fetchPage = (filter: EventFilter, cursor: string | null, signal: AbortSignal) =>
  fetchJson<EventList>(listPath(filter, cursor), { signal });

/** What the server had already read for the page's own filter. */
export type InitialList = { list: EventList; readAtMs: number } | null;

/**
 * The list as it was read. It does not follow the world by itself: rows that move under a hand are worse than old rows.
 * `useFreshPage` says what changed, and the view decides what to show of it.
 */
export function useEventList(filter: EventFilter | null, initial: InitialList = null) {
  return useInfiniteQuery({
    queryKey: keys.events.list(filter ?? {}),
    queryFn: ({ signal, pageParam }) => fetchPage(filter ?? {}, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    enabled: filter !== null,
    staleTime: Number.POSITIVE_INFINITY,
    ...(initial
      ? { initialData: { pages: [initial.list], pageParams: [null] }, initialDataUpdatedAt: initial.readAtMs }
      : {}),
  });
}

/**
 * One page of the list read again and again: `cursor` null is the newest page, where newcomers show up. `known` is that
 * page as the list has it, so that the first look comes a poll later.
 */
export function useFreshPage(
  filter: EventFilter | null,
  cursor: string | null,
  { enabled, known }: { enabled: boolean; known?: InitialList },
) {
  return useQuery<EventList, ApiError>({
    queryKey: [...keys.events.newer(filter ?? {}), cursor],
    queryFn: ({ signal }) => fetchPage(filter ?? {}, cursor, signal),
    enabled: enabled && filter !== null,
    refetchInterval: LIST_POLL_MS,
    staleTime: LIST_POLL_MS,
    ...(known ? { initialData: known.list, initialDataUpdatedAt: known.readAtMs } : {}),
    // Kept no longer than it is looked at: an old answer must not overrule a list that was read later.
    gcTime: 0,
    retry: false,
  });
}

export function useEventCounts(filter: EventFilter | null) {
  return useQuery<EventCounts, ApiError>({
    queryKey: keys.events.count(filter ?? {}),
    queryFn: ({ signal }) => fetchJson<EventCounts>(`/api/v1/events/count?${toSearchParams(filter ?? {})}`, { signal }),
    enabled: filter !== null,
    refetchInterval: COUNT_POLL_MS,
    // The number of another filter is wrong, but a line that collapses and grows again moves the whole list.
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** What the server had already read of the event. */
export type InitialDetail = { event: EventDetail; readAtMs: number } | null;

export function useEventDetail(id: string, initial: InitialDetail = null) {
  return useQuery<EventDetail, ApiError>({
    queryKey: keys.events.detail(id),
    queryFn: ({ signal }) => fetchJson<EventDetail>(`/api/v1/events/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: (query) => (query.state.error?.code === "unknown-event" ? false : DETAIL_POLL_MS),
    ...(initial?.event.id === id ? { initialData: initial.event, initialDataUpdatedAt: initial.readAtMs } : {}),
  });
}

export function useNeighbours(id: string, filter: EventFilter | null) {
  return useQuery<Neighbours, ApiError>({
    queryKey: keys.events.neighbours(id, filter ?? {}),
    queryFn: ({ signal }) =>
      fetchJson<Neighbours>(`/api/v1/events/${encodeURIComponent(id)}/neighbours?${toSearchParams(filter ?? {})}`, {
        signal,
      }),
    enabled: filter !== null,
    retry: false,
  });
}

/** The whole list as a file; the filter is the list's own. */
export function exportHref(filter: EventFilter, format: "ndjson" | "csv"): string {
  const params = toSearchParams(filter);
  params.set("format", format);
  return `/api/v1/events/export?${params}`;
}

export function payloadHref(id: string): string {
  return `/api/v1/events/${encodeURIComponent(id)}/payload`;
}
