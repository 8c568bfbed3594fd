import type { Against } from "@/lib/observe/stats/difference.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { readFilter } from "@/lib/selection/filter/filter-read.browser";

export const AGAINST_FIRST = "day";

/** Differences can be narrowed to one source alone; null = they are those of all. */
export function onlySource({ source }: EventFilter): string | null {
  return source?.length === 1 ? source[0]! : null;
}

/** What the overview reads first, by the query of its address; null = its filter cannot be read. */
export function firstDifferencesPath(params: URLSearchParams): string | null {
  const { filter } = readFilter(params);
  return filter && differencesPath(AGAINST_FIRST, onlySource(filter));
}

/** `source`: null = all. */
export function differencesPath(against: Against, source: string | null): string {
  return `/api/v1/stats/differences?${new URLSearchParams({ against, ...(source === null ? {} : { source }) })}`;
}
