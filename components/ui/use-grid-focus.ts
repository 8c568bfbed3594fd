import { useEffect, useRef } from "react";

/** The ref of a grid that takes the focus with its active row while nothing else has it: a screen reader then reads the row. */
export function useGridFocus(activeId: string | null) {
  const grid = useRef<HTMLTableElement>(null);
  useEffect(() => {
    if (activeId !== null && document.activeElement === document.body) grid.current?.focus({ preventScroll: true });
  }, [activeId]);
  return grid;
}
