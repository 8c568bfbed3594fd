import type { GroupOut } from "@/lib/events/events.shapes";
import { groupPath } from "@/lib/events/groups/group-path.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { withPart } from "@/lib/selection/filter/filter-read.browser";
import type { EventStatus } from "@/lib/states/event-state.pure";

type Named = Pick<GroupOut, "fingerprint">;

/** The events of groups that also match the filter of the page. */
export function groupFilter(filter: EventFilter, groups: Named | readonly Named[], status?: EventStatus): EventFilter {
  const named = "fingerprint" in groups ? [groups] : groups;
  const narrowed = withPart(filter, { fingerprint: named.map(({ fingerprint }) => fingerprint) });
  return status === undefined ? narrowed : withPart(narrowed, { status: [status] });
}

/** The one source of the filter; null = none, or several. */
export function sourceOf({ source }: EventFilter): string | null {
  return source?.length === 1 ? source[0]! : null;
}

/** The page of a group, of the source and the window that the list is narrowed to. */
export function groupHref(filter: EventFilter, { fingerprint }: Named): string {
  return groupPath(fingerprint, sourceOf(filter), filter);
}

/** A group whose place changed between the reads of two pages is in both pages. The first copy stays. */
export function eachOnce<Group extends Named>(groups: readonly Group[]): Group[] {
  const seen = new Set<string>();
  return groups.filter(({ fingerprint }) => !seen.has(fingerprint) && seen.add(fingerprint));
}
