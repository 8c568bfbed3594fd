import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { EventCounts, EventDetail, EventList, Neighbours } from "@/lib/events/events.shapes";
import type { EventSort } from "@/lib/events/list/event-sort.pure";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import { PAGE_ROWS } from "@/lib/platform/browser/page-rows.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { listQuery } from "@/lib/selection/filter/filter-read.browser";

/** The time between two reads of new events and of the visible rows. */
const LIST_POLL_MS = 5_000;
const COUNT_POLL_MS = 10_000;
const DETAIL_POLL_MS = 4_000;

/** A filtered list. `sort` null = by arrival, newest first. */
export type ListOf = { filter: EventFilter; sort: EventSort | null };

function listPath({ filter, sort }: ListOf, cursor: string | null): string {
  const params = new URLSearchParams(listQuery(filter, sort));
  params.set("limit", String(PAGE_ROWS));
  if (cursor !== null) params.set("cursor", cursor);
  return `/api/v1/events?${params}`;
}

const fetchPage = (list: ListOf, cursor: string | null, signal: AbortSignal) =>
  fetchJson<EventList>(listPath(list, cursor), { signal });

/** The first page of the page's own filter, read by the server. */
export type InitialList = { list: EventList; readAtMs: number } | null;

/**
 * The list as it was read. It does not poll, because a row that moves under the pointer is worse than an old row.
 * `useFreshPage` reads the changes, and the view decides which of them to show.
 */
export function useEventList(list: ListOf, initial: InitialList = null) {
  return useInfiniteQuery({
    queryKey: keys.events.list(list.filter, list.sort),
    queryFn: ({ signal, pageParam }) => fetchPage(list, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
    ...(initial
      ? {
          initialData: { pages: [initial.list], pageParams: [null] },
          // If the server's clock is ahead of the browser's, each poll would count as older than the list.
          initialDataUpdatedAt: () => Math.min(initial.readAtMs, Date.now()),
        }
      : {}),
  });
}

/**
 * One page of the list, polled: `cursor` null is the newest page, where new events appear. `known` is that page as the
 * list has it, so the first poll waits one interval.
 */
export function useFreshPage(
  list: ListOf,
  cursor: string | null,
  { enabled, known }: { enabled: boolean; known?: InitialList },
) {
  return useQuery<EventList, ApiError>({
    queryKey: [...keys.events.newer(list.filter, list.sort), cursor],
    queryFn: ({ signal }) => fetchPage(list, cursor, signal),
    enabled,
    refetchInterval: LIST_POLL_MS,
    persister: unlessUnchanged,
    staleTime: LIST_POLL_MS,
    ...(known ? { initialData: known.list, initialDataUpdatedAt: known.readAtMs } : {}),
    // Not kept after its use: an old answer must not change a list that was read later.
    gcTime: 0,
    retry: false,
  });
}

export const useEventCounts = (filter: EventFilter | null) =>
  useRead<EventCounts>("events", filter && `/api/v1/events/count?${toSearchParams(filter)}`, {
    refetchInterval: COUNT_POLL_MS,
    persister: unlessUnchanged,
    // The count of the previous filter is wrong, but an empty line would move the whole list.
    placeholderData: keepPreviousData,
    retry: false,
  });

/** The event as the server read it for the page. */
export type InitialDetail = { event: EventDetail; readAtMs: number } | null;

export const useEventDetail = (id: string, initial: InitialDetail = null) =>
  useRead<EventDetail>("events", `/api/v1/events/${encodeURIComponent(id)}`, {
    refetchInterval: (query) => (query.state.error?.code === "unknown-event" ? false : DETAIL_POLL_MS),
    persister: unlessUnchanged,
    ...(initial?.event.id === id ? { initialData: initial.event, initialDataUpdatedAt: initial.readAtMs } : {}),
  });

export const useNeighbours = (id: string, filter: EventFilter | null, sort: EventSort | null) =>
  useRead<Neighbours>(
    "events",
    filter && `/api/v1/events/${encodeURIComponent(id)}/neighbours?${listQuery(filter, sort)}`,
    { retry: false },
  );

/** The address of a file with all events of the filter. */
export function exportHref(filter: EventFilter, format: "ndjson" | "csv", reason?: string): string {
  const params = toSearchParams(filter);
  params.set("format", format);
  if (format === "csv") params.set("bom", "true"); // Excel opens it
  if (reason !== undefined) params.set("reason", reason);
  return `/api/v1/events/export?${params}`;
}

/** The exact bytes, which are not masked: `reason` is kept in the audit. */
export function payloadHref(
  id: string,
  { revision, reason }: { revision: number | undefined; reason: string },
): string {
  const params = new URLSearchParams({ reason, ...(revision !== undefined && { revision: String(revision) }) });
  return `/api/v1/events/${encodeURIComponent(id)}/payload?${params}`;
}
