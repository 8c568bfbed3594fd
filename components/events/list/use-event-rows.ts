"use client";

import { useCallback, useEffect, useMemo, useState } from "react";
import { type InitialList, type ListOf, useEventList, useFreshPage } from "@/lib/events/events.browser";
import { PAGE_ROWS } from "@/lib/platform/browser/page-rows.browser";
import { type FreshPage, heldByShortPages, newcomers, pageOfRow, shownRows } from "./list-rows";

/**
 * The rows of one list: read once, then updated in place. New events wait until the person asks for them, and a row
 * that no longer matches stays, marked. Only a change made in this browser (a redrive, an ignore) invalidates the list
 * and removes rows.
 */
export function useEventRows(of: ListOf, initial: InitialList) {
  const list = useEventList(of, initial);
  const sorted = of.sort !== null;
  const pages = list.data?.pages;
  const firstId = pages?.[0]?.items[0]?.id ?? null;

  // The newest row of the first read; `undefined` before it.
  const [topId, setTopId] = useState<string | null | undefined>(() => (pages ? firstId : undefined));
  if (topId === undefined && pages) setTopId(firstId);
  const top = topId ?? null;

  const [firstVisible, setFirstVisible] = useState(0);
  const visiblePage = pages ? pageOfRow(pages, firstVisible) : 0;
  const known = pages?.[0] ? { list: pages[0], readAtMs: list.dataUpdatedAt } : null;
  const newest = useFreshPage(of, null, { enabled: known !== null, known });
  const cursor = visiblePage > 0 ? (pages?.[visiblePage - 1]?.nextCursor ?? null) : null;
  const visible = useFreshPage(of, cursor, { enabled: cursor !== null });

  const above = pages?.slice(0, visiblePage).flatMap(({ items }) => items.at(-1) ?? []);
  const before = above?.at(-1)?.id ?? null;
  const rows = useMemo(() => {
    const fresh: FreshPage[] = [];
    // A page that was read before the list is older than the list.
    if (newest.data && newest.dataUpdatedAt > list.dataUpdatedAt) fresh.push({ list: newest.data, before: null });
    if (cursor !== null && visible.data && visible.dataUpdatedAt > list.dataUpdatedAt) {
      fresh.push({ list: visible.data, before });
    }
    return shownRows(pages ?? [], fresh, { sorted, topId: top });
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
    sorted,
  ]);

  const { refetch, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = list;
  const showNew = useCallback(async () => {
    const read = await refetch();
    if (read.data) setTopId(read.data.pages[0]?.items[0]?.id ?? null);
  }, [refetch]);
  const fetchMore = useCallback(() => {
    // After a failure the banner offers another try: scrolling must not repeat requests to a failing store.
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage, isFetchNextPageError]);

  const examinedTo = pages?.at(-1)?.examinedTo ?? null;
  // What the pages that were not full hold together: where matches are rare, a page is read on until as many rows are there as it has.
  const isShort = examinedTo !== null && heldByShortPages(pages ?? []) < PAGE_ROWS;
  useEffect(() => {
    if (isShort) fetchMore();
  }, [isShort, fetchMore]);

  // A count that was read before the list is older than the list.
  const readSince = newest.dataUpdatedAt > list.dataUpdatedAt ? newest.data : undefined;
  const news = newcomers(readSince, { sorted, topId: top }, pages);
  // An empty list has no rows that could move, so its first events appear by themselves.
  const arrivedAtNone = topId !== undefined && rows.length === 0 && news.count > 0;
  useEffect(() => {
    if (arrivedAtNone) void showNew();
  }, [arrivedAtNone, showNew]);

  return {
    rows,
    hints: (readSince ?? pages?.[0])?.hints ?? [],
    newcomers: rows.length === 0 ? { count: 0, more: false } : news,
    isLoading: list.isLoading,
    // A failed read of new events matters only while the list itself is fine.
    error: list.error ?? newest.error,
    hasMore: list.hasNextPage,
    /** While rare matches are looked for: all events that arrived since then were examined. */
    examinedTo: isShort ? examinedTo : null,
    retry: () => {
      if (isFetchNextPageError) void fetchNextPage();
      else void (list.isError ? refetch() : newest.refetch());
    },
    showNew,
    fetchMore,
    setFirstVisible,
  };
}
