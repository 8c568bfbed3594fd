import type { Column } from "@/lib/cli/table";
import type { ListedEvent } from "@/lib/events/events.shapes";
import { formatAgo } from "@/lib/platform/plain/format.pure";

/** For programs: whole values, the event's id first. */
export const EVENT_COLUMNS: readonly Column<ListedEvent>[] = [
  { title: "id", of: ({ id }) => id },
  { title: "status", of: ({ status }) => status },
  { title: "source", of: ({ source }) => source },
  { title: "event", of: ({ eventId }) => eventId },
  { title: "aggregate", of: ({ aggregateId }) => aggregateId },
  { title: "error code", of: ({ errorCode }) => errorCode },
  { title: "tries", of: ({ attempts }) => attempts },
  { title: "first seen", of: ({ firstSeen }) => firstSeen },
  { title: "error", of: ({ lastError }) => lastError },
];

/** For a terminal: without the id, and with the age in place of the time. */
export function EVENT_COLUMNS_NARROW(nowMs: number): readonly Column<ListedEvent>[] {
  return EVENT_COLUMNS.slice(1).map((column) => {
    if (column.title === "first seen") {
      return { title: "parked", of: ({ firstSeen }) => formatAgo(Date.parse(firstSeen), nowMs) };
    }
    return column.title === "status" ? { title: "status", of: statusText } : column;
  });
}

function statusText({ status, heldBehind }: ListedEvent): string {
  if (!heldBehind) return status;
  return `HELD behind ${heldBehind.version === null ? heldBehind.eventId : `v${heldBehind.version}`}`;
}
