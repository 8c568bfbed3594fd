import type { CountOut, EventCounts } from "@/lib/contract/events";
import type { FilterStatus } from "@/lib/contract/filter-params";

/** In the order of an event's life. A subset is counted in its state too: 37 of the 11,902 pending events came back. */
const STATES: { status: FilterStatus; refinements: FilterStatus[] }[] = [
  { status: "PENDING", refinements: ["BOUNCED", "COOLING", "BLACKLISTED"] },
  { status: "QUEUED", refinements: [] },
  { status: "REDRIVEN", refinements: ["CONFIRMED"] },
  { status: "IGNORED", refinements: [] },
];

export type ShownCount = { status: FilterStatus; count: CountOut };

/** The states that have events or whose number is unknown, with their subsets. */
export function countsShown(counts: EventCounts): { state: ShownCount | null; of: ShownCount[] }[] {
  const shown = (status: FilterStatus): ShownCount[] => {
    const count = counts.byStatus[status];
    return count && count.value !== 0 ? [{ status, count }] : [];
  };
  return STATES.map(({ status, refinements }) => ({
    state: shown(status)[0] ?? null,
    of: refinements.flatMap(shown),
  })).filter(({ state, of }) => state !== null || of.length > 0);
}
