import type { EventFilter } from "@/lib/contract/event-filter";
import type { Selection } from "@/lib/contract/selection";

const RELATIVE = /^-(\d+)(s|m|h|d|w)$/;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/**
 * The same selection with its window fixed at the preview's cutoff, so that what is confirmed is what was counted:
 * later arrivals stay out, and a relative start does not slide while the dialog is read. Named ids need no window.
 *
 * @param cutoff ISO 8601, from the preview
 */
export function pinSelection(selection: Selection, cutoff: string): Selection {
  if ("ids" in selection) return selection;
  const cutoffMs = Date.parse(cutoff);
  const filter: EventFilter = { ...selection.filter };
  const from = filter.from === undefined ? undefined : pinned(filter.from, cutoffMs);
  const to = filter.to === undefined ? cutoff : earlier(pinned(filter.to, cutoffMs), cutoff);
  return { filter: { ...filter, ...(from === undefined ? {} : { from }), to } };
}

function pinned(instant: string, cutoffMs: number): string {
  if (instant === "now") return new Date(cutoffMs).toISOString();
  const match = RELATIVE.exec(instant);
  if (!match) return instant;
  const unitMs = UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return new Date(cutoffMs - Number(match[1]) * unitMs).toISOString();
}

/** An end in the future would let later arrivals in. An end that does not parse is the server's to refuse. */
function earlier(end: string, cutoff: string): string {
  const endMs = /^\d{10,}$/.test(end) ? Number(end) : Date.parse(end);
  return Number.isNaN(endMs) || endMs <= Date.parse(cutoff) ? end : cutoff;
}
