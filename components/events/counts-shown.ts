import { FILTER_STATUSES, type FilterStatus } from "@/lib/contract/event-filter";
import type { CountOut, EventCounts } from "@/lib/contract/events";

/** In the order in which an event lives. */
const ORDER: FilterStatus[] = ["PENDING", "BOUNCED", "COOLING", "QUEUED", "REDRIVEN", "CONFIRMED", "IGNORED"];

/** The states worth a number: those that have any, or whose number is not known. Unknown names are left out. */
export function countsShown(counts: EventCounts): { status: FilterStatus; count: CountOut }[] {
  return ORDER.filter((status) => FILTER_STATUSES.includes(status)).flatMap((status) => {
    const count = counts.byStatus[status];
    return count && count.value !== 0 ? [{ status, count }] : [];
  });
}
