"use client";

import { useRouter } from "next/navigation";
import { useCallback, useRef, useState } from "react";
import type { ListOf } from "@/lib/events/events.browser";
import { filterHref } from "@/lib/selection/filter/filter-read.browser";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import type { TableHandle } from "./event-table";
import { placeToReturnTo, rememberPlace } from "./list-place";

/** Below this width the side panel would cover the list, so an event opens on its own page. */
const PANEL_FROM_PX = 900;

/** The active row: its id, its last place in the list (-1 = none), and the place `step` rows further. */
function useActiveRow(order: string[], startId: string | null) {
  const [activeId, setActiveId] = useState(startId);
  const lastAt = useRef(-1);
  const at = activeId === null ? -1 : order.indexOf(activeId);
  if (at !== -1) lastAt.current = at;
  const next = (step: number) => {
    // A row that left the list stood before the row that now has its place.
    const from = at === -1 && activeId !== null && lastAt.current >= 0 ? lastAt.current - (step > 0 ? 1 : 0) : at;
    if (at === -1 && from === -1 && step < 0) return order.length - 1;
    return Math.min(Math.max(from + step, 0), order.length - 1);
  };
  return { activeId, setActiveId, activeAt: lastAt.current, next };
}

/**
 * Where a person is in a list: the active row, the event that is open beside it, and the scroll position, which comes back
 * when the person returns to the list. `query`: the list as a URL query. `order`: the ids of the rows.
 */
export function useListCursor(query: string, list: ListOf, order: string[]) {
  const router = useRouter();
  const table = useRef<TableHandle | null>(null);
  const [openId, setOpenId] = usePageParam("open");
  const [place] = useState(() => (typeof window === "undefined" ? null : placeToReturnTo(query)));
  const scrollTop = useRef(place?.scrollTop ?? 0);
  const { activeId, setActiveId, activeAt, next } = useActiveRow(order, openId ?? place?.activeId ?? null);
  const shown = useRef(list);
  shown.current = list;

  const goToPage = useCallback(
    (id: string) => {
      rememberPlace(query, { scrollTop: scrollTop.current, activeId: id });
      const { filter, sort } = shown.current;
      router.push(filterHref(`/events/${id}`, filter, new URLSearchParams(sort === null ? {} : { sort })));
    },
    [router, query],
  );
  const open = useCallback(
    (id: string) => {
      setActiveId(id);
      if (window.innerWidth < PANEL_FROM_PX) goToPage(id);
      else setOpenId(id);
    },
    [goToPage, setOpenId, setActiveId],
  );
  const move = (step: number) => {
    const at = next(step);
    const id = order[at];
    if (id === undefined) return;
    setActiveId(id);
    table.current?.scrollToRow(at);
    if (openId !== null) setOpenId(id);
  };
  const keepPlace = () => rememberPlace(query, { scrollTop: scrollTop.current, activeId });
  /** Leaves the list for another page, and comes back to this place. */
  const leave = (href: string) => {
    keepPlace();
    router.push(href);
  };
  return {
    table,
    openId,
    setOpenId,
    activeId,
    setActiveId,
    /** The row of the open event; when it has left the list, where it was. */
    openAt: openId === null || order.indexOf(openId) === -1 ? activeAt : order.indexOf(openId),
    /** Null when it is not in the list. */
    listedId: activeId !== null && order.includes(activeId) ? activeId : null,
    startAt: place?.scrollTop ?? 0,
    goToPage,
    open,
    move,
    leave,
    onScrolled: (top: number) => {
      scrollTop.current = top;
      keepPlace();
    },
  };
}
