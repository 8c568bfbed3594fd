import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { withPart } from "@/lib/selection/filter/filter-read.browser";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

const WINDOW_DEFAULT = "-24h";

/** The filter with a start, which every chart needs. */
export function windowed(filter: EventFilter): EventFilter {
  return filter.from === undefined && filter.to === undefined ? { ...filter, from: WINDOW_DEFAULT } : filter;
}

export function windowOf({ from, to }: EventFilter): EventFilter {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** The same filter over a short window up to now, for rates. */
export function lately(filter: EventFilter, from: string): EventFilter {
  return withPart(filter, { from, to: undefined });
}

/**
 * The matching events that are parked now, as the events list shows them. The window is left out, because a size has no
 * window: an event parked a week ago counts as much as an event of today. The list then has as many rows as the tile
 * says.
 */
export function parkedNow(filter: EventFilter, part: Partial<EventFilter> = {}): EventFilter {
  return withPart(filter, { from: undefined, to: undefined, status: [...PARKED_STATUSES], ...part });
}

/** The events parked now that are at least this old. */
export function parkedBefore(filter: EventFilter, ageMs: number, nowMs: number): EventFilter {
  return parkedNow(filter, { to: new Date(nowMs - ageMs + 1).toISOString() });
}

/** Whether the filter restricts beyond the window: "nothing parked" and "all hidden" are two messages. */
export function isRestricted(filter: EventFilter): boolean {
  return Object.keys(withPart(filter, { from: undefined, to: undefined })).length > 0;
}

/** The names that charts can restrict by. The rollups hold no others; a chart by another name would scan the events. */
const CHARTED = ["source", "errorCode", "not.source", "not.errorCode", "from", "to"] as const;

/** The part of a filter that the overview can show, and the names that it cannot show, so that the page can say so. */
export function chartable(filter: EventFilter): { shown: EventFilter; unknown: string[] } {
  const shown: EventFilter = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(filter)) {
    if ((CHARTED as readonly string[]).includes(name)) Object.assign(shown, { [name]: value });
    else unknown.push(name === "q" ? "words" : name);
  }
  return { shown, unknown };
}
