import { withPart } from "@/lib/browser/filter-read";
import type { EventFilter } from "@/lib/contract/event-filter";
import type { GroupOut } from "@/lib/contract/events";
import type { EventStatus } from "@/lib/core/event-state";

/** The group's events within what the page is narrowed to. */
export function groupFilter(
  filter: EventFilter,
  group: Pick<GroupOut, "fingerprint">,
  status?: EventStatus,
): EventFilter {
  const narrowed = withPart(filter, { fingerprint: [group.fingerprint] });
  return status === undefined ? narrowed : withPart(narrowed, { status: [status] });
}
