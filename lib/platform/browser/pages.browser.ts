import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { unlessUnchanged } from "./changes.browser";
import { fetchJson } from "./fetch-json.browser";
import { useFirstRead } from "./first-reads.browser";
import type { Noun } from "./keys.browser";

type Page = { nextCursor: string | null };

/**
 * A list behind cursors: its first page, and each further page when it is asked for. `path` has the query of the list, with
 * its limit. `poll`: milliseconds between two reads of all pages that were read, by what they hold.
 */
export function usePages<P extends Page>(
  noun: Noun,
  path: string,
  poll: (pages: readonly P[]) => number | false,
  options: { persister?: typeof unlessUnchanged } = {},
) {
  return useInfiniteQuery<P, ApiError, InfiniteData<P>, readonly unknown[], string | null>({
    ...options,
    ...useFirstRead(path, (page: P) => ({ pages: [page], pageParams: [null] })),
    queryKey: [noun, "pages", path],
    queryFn: ({ signal, pageParam }) =>
      fetchJson<P>(pageParam === null ? path : `${path}&cursor=${encodeURIComponent(pageParam)}`, { signal }),
    initialPageParam: null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state }) => poll(state.data?.pages ?? []),
  });
}

/** Polls as long as only the first page was read: rows that a person has read must not move. */
export function firstPageEvery(ms: number): (pages: readonly Page[]) => number | false {
  return (pages) => (pages.length <= 1 ? ms : false);
}
