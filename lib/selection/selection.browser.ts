import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { VALUES_MAX } from "@/lib/selection/filter/filter-params.shapes";
import { SELECTED_IDS_MAX } from "@/lib/selection/selected-ids.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";

/**
 * The selection in a list: named rows, or all matching events. "All" is the filter, not the ids on the screen: it
 * includes the matching events that are not loaded.
 */
export type Picked =
  | { kind: "none" }
  /** `anchor`: the row toggled last, where a range begins. */
  | { kind: "ids"; ids: ReadonlySet<string>; anchor: string | null }
  /** `except`: eventIds of the rows that were unticked, which the filter of the selection excludes. */
  | { kind: "all"; except: ReadonlySet<string> };

export const NOTHING: Picked = { kind: "none" };
export const ALL: Picked = { kind: "all", except: new Set() };

function picked(ids: ReadonlySet<string>, anchor: string | null): Picked {
  return ids.size === 0 ? NOTHING : { kind: "ids", ids, anchor };
}

const idsOf = (now: Picked): ReadonlySet<string> => (now.kind === "ids" ? now.ids : new Set());

/** The same eventId in two sources is left out of both, and both rows show it. */
export function isPicked(now: Picked, id: string, eventId = id): boolean {
  return now.kind === "all" ? !now.except.has(eventId) : now.kind === "ids" && now.ids.has(id);
}

/** No further row can be left out of all matching: a name of the filter has so many values at most. */
export function isExceptFull(now: Picked, filter: EventFilter): boolean {
  return now.kind === "all" && leftOut(now.except, filter).length >= VALUES_MAX;
}

const leftOut = (except: ReadonlySet<string>, filter: EventFilter) => [
  ...new Set([...(filter["not.eventId"] ?? []), ...except]),
];

/** Selects or deselects a row. One that is deselected of all matching is left out of them. */
export function toggle(now: Picked, id: string, eventId = id): Picked {
  if (now.kind === "all") {
    const except = new Set(now.except);
    if (!except.delete(eventId)) except.add(eventId);
    return { kind: "all", except };
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

/** The filter of all matching that are selected, or of the list. */
export function pickedFilter(now: Picked, filter: EventFilter): EventFilter {
  if (now.kind !== "all" || now.except.size === 0) return filter;
  return { ...filter, "not.eventId": leftOut(now.except, filter) };
}

/** The selection in the form of an operation's request; null when nothing is selected. */
export function selectionOf(now: Picked, filter: EventFilter): Selection | null {
  switch (now.kind) {
    case "none":
      return null;
    case "ids":
      return { ids: [...now.ids] };
    case "all":
      return { filter: pickedFilter(now, filter) };
  }
}

/** The number of selected events. `matching`: those of `pickedFilter`; null = unknown. */
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
