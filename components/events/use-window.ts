import { type RefObject, useLayoutEffect, useState } from "react";

/** Rows made beyond what is in view, on each side: a flick of the wheel must not show white. */
const OVERSCAN_ROWS = 12;

export type RowWindow = {
  /** First row in view, and the rows to make: from `start` up to, not including, `end`. */
  first: number;
  start: number;
  end: number;
};

/** Which rows of equal height are in view, and which of them to make. */
export function rowWindow(scrollTop: number, viewPx: number, rowPx: number, rows: number): RowWindow {
  const first = Math.min(Math.max(0, Math.floor(scrollTop / rowPx)), Math.max(0, rows - 1));
  const inView = Math.ceil(viewPx / rowPx) + 1;
  return {
    first,
    start: Math.max(0, first - OVERSCAN_ROWS),
    end: Math.min(rows, first + inView + OVERSCAN_ROWS),
  };
}

/** Where to scroll so that a row is wholly in view below the sticky head; null when it is. */
export function scrollTopFor(row: number, view: { scrollTop: number; viewPx: number; headPx: number; rowPx: number }) {
  const { scrollTop, viewPx, headPx, rowPx } = view;
  const top = row * rowPx;
  if (top < scrollTop) return top;
  const bottom = top + rowPx + headPx;
  return bottom > scrollTop + viewPx ? bottom - viewPx : null;
}

/**
 * Follows the scrolling of an element whose rows all have one height. Before the element is there (on the server) it
 * assumes a window of `assumedPx`. Own code, since a general virtualiser is ten times as large as the list needs.
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
        // Another row at the top, or another height: everything between would render the same rows again.
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
