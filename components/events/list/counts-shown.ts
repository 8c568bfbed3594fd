import type { CountOut, EventCounts } from "@/lib/events/events.shapes";
import type { FilterStatus } from "@/lib/selection/filter/filter-params.shapes";
import { EVENT_STATUSES, SHOWN_PARTS } from "@/lib/states/event-state.pure";

export type ShownCount = { status: FilterStatus; count: CountOut };

/** The states that have events or whose number is unknown, with their parts, which they count too. */
export function countsShown(counts: EventCounts): { state: ShownCount | null; of: ShownCount[] }[] {
  const shown = (status: ShownCount["status"]): ShownCount[] => {
    const count = counts.byStatus[status];
    return count && count.value !== 0 ? [{ status, count }] : [];
  };
  return EVENT_STATUSES.map((status) => ({
    state: shown(status)[0] ?? null,
    of: SHOWN_PARTS[status].flatMap(shown),
  })).filter(({ state, of }) => state !== null || of.length > 0);
}
