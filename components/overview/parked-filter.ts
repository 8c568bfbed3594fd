import { withPart } from "@/lib/browser/filter-read";
import type { EventFilter } from "@/lib/contract/event-filter";
import { PARKED_STATUSES } from "@/lib/core/event-state";

/** The window of the overview when its address has none. */
const WINDOW_DEFAULT = "-24h";

/** The filter with a start, so that a chart has one. */
export function windowed(filter: EventFilter): EventFilter {
  return filter.from === undefined && filter.to === undefined ? { ...filter, from: WINDOW_DEFAULT } : filter;
}

/** The same filter over a short window up to now, for what is a rate. */
export function lately(filter: EventFilter, from: string): EventFilter {
  return withPart(filter, { from, to: undefined });
}

/**
 * What is parked now and matches, as the events list shows it. A size has no window: an event parked a week ago counts
 * as much as one of today, so the window is left out and the list has the tile's number of rows.
 */
export function parkedNow(filter: EventFilter, part: Partial<EventFilter> = {}): EventFilter {
  return withPart(filter, { from: undefined, to: undefined, status: [...PARKED_STATUSES], ...part });
}

/** Parked now and at least this old. */
export function parkedBefore(filter: EventFilter, ageMs: number, nowMs: number): EventFilter {
  return parkedNow(filter, { to: new Date(nowMs - ageMs + 1).toISOString() });
}

/** Whether anything but the window restricts: "nothing parked" and "your filters hide all" are two things. */
export function isRestricted(filter: EventFilter): boolean {
  return Object.keys(withPart(filter, { from: undefined, to: undefined })).length > 0;
}

/** What charts can be narrowed by: the rollups know no more, and a chart by anything else would be a scan. */
const CHARTED = ["source", "errorCode", "from", "to"] as const;

/** The part of a filter that the overview shows, and the names it cannot. Nothing is silently wider than it says. */
export function chartable(filter: EventFilter): { shown: EventFilter; unknown: string[] } {
  const shown: EventFilter = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(filter)) {
    if ((CHARTED as readonly string[]).includes(name)) Object.assign(shown, { [name]: value });
    else unknown.push(name === "q" ? "words" : name);
  }
  return { shown, unknown };
}
