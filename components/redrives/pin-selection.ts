import type { EventFilter } from "@/lib/contract/event-filter";
import { resolveInstant } from "@/lib/contract/filter-params";
import type { Selection } from "@/lib/contract/selection";

/**
 * The same selection with its window fixed at the preview's cutoff, so that what is confirmed is what was counted:
 * later arrivals stay out, and a relative start does not slide while the dialog is read. Other selections need no window.
 *
 * @param cutoff ISO 8601, from the preview
 */
export function pinSelection(selection: Selection, cutoff: string): Selection {
  if (!("filter" in selection)) return selection;
  // `to` is exclusive and the preview counted the cutoff's own millisecond.
  const cutoffMs = Date.parse(cutoff) + 1;
  const { from, to } = selection.filter;
  const filter: EventFilter = { ...selection.filter, to: pinned(to ?? "now", cutoffMs, true) };
  if (from !== undefined) filter.from = pinned(from, cutoffMs, false);
  return { filter };
}

/** An end after the cutoff would let later arrivals in. What is no instant is the server's to refuse. */
function pinned(instant: string, cutoffMs: number, isEnd: boolean): string {
  const ms = resolveInstant(instant, cutoffMs);
  if (ms === null) return instant;
  return new Date(isEnd ? Math.min(ms, cutoffMs) : ms).toISOString();
}
