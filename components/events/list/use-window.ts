import { type RefObject, useLayoutEffect, useState } from "react";

/** Rows rendered beyond the visible ones, on each side: a fast scroll must not show white. */
const OVERSCAN_ROWS = 12;

type RowWindow = {
  /** The first visible row, and the rows to render: from `start` to `end`, without `end`. */
  first: number;
  start: number;
  end: number;
};

/** The visible rows and the rows to render, when all rows have one height. */
export function rowWindow(scrollTop: number, viewPx: number, rowPx: number, rows: number): RowWindow {
  const first = Math.min(Math.max(0, Math.floor(scrollTop / rowPx)), Math.max(0, rows - 1));
  const inView = Math.ceil(viewPx / rowPx) + 1;
  return {
    first,
    start: Math.max(0, first - OVERSCAN_ROWS),
    end: Math.min(rows, first + inView + OVERSCAN_ROWS),
  };
}

/** The scroll position that shows a row completely below the sticky head; null when the row is visible. */
export function scrollTopFor(row: number, view: { scrollTop: number; viewPx: number; headPx: number; rowPx: number }) {
  const { scrollTop, viewPx, headPx, rowPx } = view;
  const top = row * rowPx;
  if (top < scrollTop) return top;
  const bottom = top + rowPx + headPx;
  return bottom > scrollTop + viewPx ? bottom - viewPx : null;
}

/**
 * Follows the scrolling of an element whose rows have one height. Before the element exists (on the server) a window of
 * `assumedPx` is assumed. Own code: a general virtualiser is ten times as large as the list needs.
 */
export function useRowWindow(
  scroller: RefObject<HTMLElement | null>,
  { rowPx, rows, assumedPx }: { rowPx: number; rows: number; assumedPx: number },
): RowWindow {
  const [view, setView] = useState({ scrollTop: 0, viewPx: assumedPx });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () =>
      setView((now) => {
        const next = { scrollTop: element.scrollTop, viewPx: element.clientHeight };
        // Only another first row or another height needs a render.
        const same = Math.floor(now.scrollTop / rowPx) === Math.floor(next.scrollTop / rowPx);
        return same && now.viewPx === next.viewPx ? now : next;
      });
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller, rowPx]);
  return rowWindow(view.scrollTop, view.viewPx, rowPx, rows);
}
