import type { GroupList } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/events/filter/filter-params.shapes";
import { keys } from "@/lib/platform/browser/keys.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";

const POLL_MS = 15_000;
const PAGE = 50;

/** The groups that have events matching the filter. */
export function useGroups(filter: EventFilter) {
  const query = toSearchParams(filter).toString();
  const path = `/api/v1/groups?limit=${PAGE}&${query}`;
  return usePages<GroupList>(keys.groups({ query }), path, firstPageEvery(POLL_MS));
}
