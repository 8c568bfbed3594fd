"use client";

import { useMemo, useRef, useState } from "react";
import { ALL, extendTo, NOTHING, type Picked, toggle, toggleLoaded } from "@/lib/selection/selection.browser";

/**
 * The selected rows of a list. `onToggled` is called with the row of a click or a key. `toggleRow` stays the same from one
 * rendering to the next; of an event it also gets the eventId.
 */
export function useListSelection(order: string[], onToggled?: (id: string) => void) {
  const [picked, setPicked] = useState<Picked>(NOTHING);
  const latest = useRef({ order, onToggled });
  latest.current = { order, onToggled };
  const toggleRow = useMemo(
    () => (id: string, range: boolean, eventId?: string) => {
      const { order, onToggled } = latest.current;
      onToggled?.(id);
      setPicked((now) => (range && now.kind !== "all" ? extendTo(now, id, order) : toggle(now, id, eventId)));
    },
    [],
  );
  return {
    picked,
    setPicked,
    toggleRow,
    toggleLoaded: () => setPicked((now) => toggleLoaded(now, order)),
    selectAll: () => {
      if (order.length > 0) setPicked(ALL);
    },
    clear: () => setPicked(NOTHING),
  };
}
