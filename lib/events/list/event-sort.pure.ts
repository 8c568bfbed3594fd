/** Orders of the event list by the time of the last failure. The default is by arrival. */
export const EVENT_SORTS = ["failedNewest", "failedOldest"] as const;
export type EventSort = (typeof EVENT_SORTS)[number];

/** The order that a text names; null = by arrival. */
export function eventSortOf(text: string | null): EventSort | null {
  return EVENT_SORTS.find((sort) => sort === text) ?? null;
}

/** The order after the next click on the header of the time column. */
export function sortAfter(sort: EventSort | null): EventSort | null {
  return sort === null ? "failedNewest" : sort === "failedNewest" ? "failedOldest" : null;
}
