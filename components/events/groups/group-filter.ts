import type { EventStatus } from "@/lib/events/event-state.pure";
import type { GroupOut } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { withPart } from "@/lib/events/filter/filter-read.browser";

/** The events of a group that also match the filter of the page. */
export function groupFilter(
  filter: EventFilter,
  group: Pick<GroupOut, "fingerprint">,
  status?: EventStatus,
): EventFilter {
  const narrowed = withPart(filter, { fingerprint: [group.fingerprint] });
  return status === undefined ? narrowed : withPart(narrowed, { status: [status] });
}

/** A group whose count fell between the reads of two pages is in both pages. The first copy stays. */
export function eachOnce<Group extends Pick<GroupOut, "fingerprint">>(groups: readonly Group[]): Group[] {
  const seen = new Set<string>();
  return groups.filter(({ fingerprint }) => !seen.has(fingerprint) && seen.add(fingerprint));
}
