"use client";

import { useCallback, useEffect, useMemo, useState } from "react";
import { type InitialList, useEventList, useFreshPage } from "@/lib/browser/events";
import type { EventFilter } from "@/lib/contract/event-filter";
import { type FreshPage, newcomers, pageOfRow, shownRows } from "./list-rows";

/**
 * The rows of one filter and how they change: read once, then kept up to date in place. Newcomers wait until they are
 * asked for, and what no longer matches stays where it is, marked. A change made here (an own redrive, an ignore)
 * invalidates the list and is the one case in which rows leave.
 */
export function useEventRows(filter: EventFilter, initial: InitialList) {
  const list = useEventList(filter, initial);
  const pages = list.data?.pages;
  const firstId = pages?.[0]?.items[0]?.id ?? null;

  // The newest row when the list was first read; `undefined` until then.
  const [topId, setTopId] = useState<string | null | undefined>(() => (pages ? firstId : undefined));
  if (topId === undefined && pages) setTopId(firstId);
  const top = topId ?? null;

  const [firstVisible, setFirstVisible] = useState(0);
  const visiblePage = pages ? pageOfRow(pages, firstVisible) : 0;
  const known = pages?.[0] ? { list: pages[0], readAtMs: list.dataUpdatedAt } : null;
  const newest = useFreshPage(filter, null, { enabled: known !== null, known });
  const cursor = visiblePage > 0 ? (pages?.[visiblePage - 1]?.nextCursor ?? null) : null;
  const visible = useFreshPage(filter, cursor, { enabled: cursor !== null });

  const before = visiblePage > 0 ? (pages?.[visiblePage - 1]?.items.at(-1)?.id ?? null) : null;
  const rows = useMemo(() => {
    const fresh: FreshPage[] = [];
    // What was read before the list itself was read again has nothing new to say.
    if (newest.data && newest.dataUpdatedAt > list.dataUpdatedAt) fresh.push({ list: newest.data, before: null });
    if (cursor !== null && visible.data && visible.dataUpdatedAt > list.dataUpdatedAt) {
      fresh.push({ list: visible.data, before });
    }
    return shownRows(pages ?? [], fresh, top);
  }, [
    pages,
    newest.data,
    newest.dataUpdatedAt,
    visible.data,
    visible.dataUpdatedAt,
    list.dataUpdatedAt,
    cursor,
    before,
    top,
  ]);

  const { refetch, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = list;
  const showNew = useCallback(async () => {
    const read = await refetch();
    if (read.data) setTopId(read.data.pages[0]?.items[0]?.id ?? null);
  }, [refetch]);
  const fetchMore = useCallback(() => {
    // After a failure the banner offers another try: scrolling on must not hammer a store that is in trouble.
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage, isFetchNextPageError]);

  // What was read before the list knows less than the list.
  const readSince = newest.dataUpdatedAt > list.dataUpdatedAt ? newest.data : undefined;
  const news = newcomers(readSince, top, pages);
  // Nothing stands there that could move: the first ones show themselves.
  const arrivedAtNone = topId !== undefined && rows.length === 0 && news.count > 0;
  useEffect(() => {
    if (arrivedAtNone) void showNew();
  }, [arrivedAtNone, showNew]);

  return {
    rows,
    newcomers: rows.length === 0 ? { count: 0, more: false } : news,
    isLoading: list.isLoading,
    // A failed look for news matters only while the list itself is fine.
    error: list.error ?? newest.error,
    hasMore: list.hasNextPage,
    retry: () => {
      if (isFetchNextPageError) void fetchNextPage();
      else void (list.isError ? refetch() : newest.refetch());
    },
    showNew,
    fetchMore,
    setFirstVisible,
  };
}
