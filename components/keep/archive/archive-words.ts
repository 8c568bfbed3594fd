import type { ArchiveFilter } from "@/lib/keep/archive/archive.browser";
import type { ArchivedEvent, RestoreAnswer } from "@/lib/keep/archive/archive.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { ShownState } from "@/lib/states/event-state.pure";

/** The state that it had as lists show it: a redriven event is removed only when it is confirmed. */
export function stateWas({ status }: Pick<ArchivedEvent, "status">): ShownState {
  return status === "REDRIVEN" ? "CONFIRMED" : status;
}

type Counts = Pick<RestoreAnswer, "restored" | "duplicates"> & { refused: readonly unknown[] };

/** What a restore did, for a toast: `Restored 3 events`, and the others with why. */
export function restoredText({ restored, duplicates, refused }: Counts): { title: string; detail: string | undefined } {
  const left = refused.length;
  const details = [
    duplicates === 0
      ? null
      : duplicates === 1
        ? "One arrived again in the meantime and is already stored."
        : `${formatNumber(duplicates)} arrived again in the meantime and are already stored.`,
    left === 0 ? null : left === 1 ? "One stays in the archive." : `${formatNumber(left)} stay in the archive.`,
  ].filter((detail) => detail !== null);
  return {
    title: restored === 0 ? "No event was restored" : `Restored ${plural(restored, "event")}`,
    detail: details.length === 0 ? undefined : details.join(" "),
  };
}

/** `2 more of order-77 are`, before the link `in the archive`. `listed`: the list holds events of the same filter. */
export function archivedLine(
  { eventId, aggregateId }: ArchiveFilter,
  { count, more }: { count: number; more: boolean },
  listed: boolean,
): string {
  const one = count === 1 && !more;
  const lie = one ? "is" : "are";
  const many = more ? `At least ${formatNumber(count)}` : formatNumber(count);
  if (eventId === undefined) return `${many} ${listed ? "more" : one ? "event" : "events"} of ${aggregateId} ${lie}`;
  if (one) return `${listed ? "Another event" : "Event"} ${eventId} ${lie}`;
  return `${many} ${listed ? "more events" : "events"} ${eventId} ${lie}`;
}
