import { useInfiniteQuery } from "@tanstack/react-query";
import type { GroupList } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/events/filter/filter-params.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 15_000;
const PAGE = 50;

/** The groups that have events matching the filter. */
export function useGroups(filter: EventFilter) {
  const query = toSearchParams(filter).toString();
  return useInfiniteQuery({
    queryKey: keys.groups({ query }),
    queryFn: ({ signal, pageParam }) => {
      const params = new URLSearchParams(query);
      params.set("limit", String(PAGE));
      if (pageParam) params.set("cursor", pageParam);
      return fetchJson<GroupList>(`/api/v1/groups?${params}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    // Polled only on the first page: rows that the person has read must not move.
    refetchInterval: (held) => ((held.state.data?.pages.length ?? 0) <= 1 ? POLL_MS : false),
  });
}
