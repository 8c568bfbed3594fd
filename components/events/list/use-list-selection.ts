"use client";

import { useMemo, useRef, useState } from "react";
import { extendTo, NOTHING, type Picked, toggle, toggleLoaded } from "@/lib/events/selection/selection.browser";

/**
 * The selected events of a list. `whole`: all events that match, when all of them are loaded: "all matching" is then named one
 * by one. `onToggled` is called with the row of a click or a key. `toggleRow` stays the same from one rendering to the next.
 */
export function useListSelection(order: string[], whole: string[] | null, onToggled: (id: string) => void) {
  const [picked, setPicked] = useState<Picked>(NOTHING);
  const latest = useRef({ order, whole, onToggled });
  latest.current = { order, whole, onToggled };
  const toggleRow = useMemo(
    () => (id: string, range: boolean) => {
      const { order, whole, onToggled } = latest.current;
      onToggled(id);
      setPicked((now) => (range ? extendTo(now, id, order) : toggle(now, id, whole)));
    },
    [],
  );
  return {
    picked,
    setPicked,
    toggleRow,
    toggleLoaded: () => setPicked((now) => toggleLoaded(now, order)),
    selectAll: () => {
      if (order.length > 0) setPicked({ kind: "all" });
    },
    clear: () => setPicked(NOTHING),
  };
}
