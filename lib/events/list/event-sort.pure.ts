/** Orders of the event list beside that of arrival. Of the time of the last failure. */
export const EVENT_SORTS = ["failedNewest", "failedOldest"] as const;
export type EventSort = (typeof EVENT_SORTS)[number];

/** The order that a text names; null = that of arrival. */
export function eventSortOf(text: string | null): EventSort | null {
  return EVENT_SORTS.find((sort) => sort === text) ?? null;
}

/** The next order that a click on the head of the column of times leads to. */
export function sortAfter(sort: EventSort | null): EventSort | null {
  return sort === null ? "failedNewest" : sort === "failedNewest" ? "failedOldest" : null;
}
