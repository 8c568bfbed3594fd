import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { SELECTED_IDS_MAX } from "@/lib/events/selection/selected-ids.shapes";
import type { Selection } from "@/lib/events/selection/selection.shapes";

/**
 * The selection in a list: named rows, or all matching events. "All" is the filter, not the ids on the screen: it
 * includes the matching events that are not loaded.
 */
export type Picked =
  | { kind: "none" }
  /** `anchor`: the row toggled last, where a range begins. */
  | { kind: "ids"; ids: ReadonlySet<string>; anchor: string | null }
  | { kind: "all" };

export const NOTHING: Picked = { kind: "none" };

function picked(ids: ReadonlySet<string>, anchor: string | null): Picked {
  return ids.size === 0 ? NOTHING : { kind: "ids", ids, anchor };
}

const idsOf = (now: Picked): ReadonlySet<string> => (now.kind === "ids" ? now.ids : new Set());

export function isPicked(now: Picked, id: string): boolean {
  return now.kind === "all" || (now.kind === "ids" && now.ids.has(id));
}

/**
 * Selects or deselects a row. A filter cannot say "all but one": all matching become single rows when `whole`, the ids of
 * all of them, are known; else they stay selected.
 */
export function toggle(now: Picked, id: string, whole: readonly string[] | null = null): Picked {
  if (now.kind === "all") {
    if (whole === null || !whole.includes(id) || whole.length > SELECTED_IDS_MAX) return now;
    return picked(new Set(whole.filter((each) => each !== id)), id);
  }
  const ids = new Set(idsOf(now));
  if (ids.has(id)) ids.delete(id);
  else if (ids.size < SELECTED_IDS_MAX) ids.add(id);
  return picked(ids, id);
}

/** Selects from the row toggled last to this row, both included; `order` is the list as shown. */
export function extendTo(now: Picked, id: string, order: readonly string[]): Picked {
  if (now.kind === "all") return now;
  const anchor = now.kind === "ids" ? now.anchor : null;
  const to = order.indexOf(id);
  const from = anchor === null ? -1 : order.indexOf(anchor);
  if (to === -1) return now;
  if (from === -1) return toggle(now, id);
  const ids = new Set(idsOf(now));
  for (const between of order.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (ids.size < SELECTED_IDS_MAX) ids.add(between);
  }
  return picked(ids, anchor);
}

/** The box in the head of the list: all loaded rows, or none. */
export function toggleLoaded(now: Picked, order: readonly string[]): Picked {
  if (now.kind !== "none") return NOTHING;
  return picked(new Set(order.slice(0, SELECTED_IDS_MAX)), null);
}

/** The selection in the form of an operation's request; null when nothing is selected. */
export function selectionOf(now: Picked, filter: EventFilter): Selection | null {
  switch (now.kind) {
    case "none":
      return null;
    case "ids":
      return { ids: [...now.ids] };
    case "all":
      return { filter };
  }
}

/** The number of selected events; null when all matching events are selected and their number is unknown. */
export function pickedCount(now: Picked, matching: number | null): number | null {
  switch (now.kind) {
    case "none":
      return 0;
    case "ids":
      return now.ids.size;
    case "all":
      return matching;
  }
}
