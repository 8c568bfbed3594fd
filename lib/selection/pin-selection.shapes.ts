import { resolveInstant } from "@/lib/platform/instant.pure";

const STARTS = ["from", "failedFrom"] as const;

type Window = { from?: string; to?: string; failedFrom?: string; failedTo?: string };

/**
 * Fixes the windows of a selection at the time of a count or a preview, so that a person confirms what was counted: later
 * arrivals are left out, and relative times do not move meanwhile. Every change of filtered events uses it. Other
 * selections have no window.
 *
 * @param cutoff ISO 8601, of the count; null = nothing was counted, and the moment of the request decides
 */
export function pinSelection<Selected extends object>(selection: Selected, cutoff: string | null): Selected {
  if (cutoff === null || !("filter" in selection)) return selection;
  // `to` is exclusive, and the count included the millisecond of the cutoff.
  const cutoffMs = Date.parse(cutoff) + 1;
  const filter: Window = { ...(selection.filter as Window) };
  filter.to = pinned(filter.to ?? "now", cutoffMs, true);
  if (filter.failedTo !== undefined) filter.failedTo = pinned(filter.failedTo, cutoffMs, false);
  // A relative start was counted from the cutoff itself, and is inclusive.
  for (const name of STARTS) if (filter[name] !== undefined) filter[name] = pinned(filter[name], cutoffMs - 1, false);
  return { ...selection, filter };
}

/** An end after the cutoff would include later arrivals. Text that is not a time is left for the server to reject. */
function pinned(instant: string, cutoffMs: number, isEnd: boolean): string {
  const ms = resolveInstant(instant, cutoffMs);
  if (ms === null) return instant;
  return new Date(isEnd ? Math.min(ms, cutoffMs) : ms).toISOString();
}
