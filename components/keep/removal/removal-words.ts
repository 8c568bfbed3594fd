import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { ShownState } from "@/lib/states/event-state.pure";

type Counts = Pick<RemovalPreview, "removable" | "kept" | "keptByReason" | "byStatus">;

export type StateCount = { state: ShownState; count: number };

/** The selected events by state: those that go, and those that stay. A redriven event goes when it is confirmed. */
export function goAndStay({ byStatus, keptByReason }: Pick<Counts, "byStatus" | "keptByReason">): {
  go: StateCount[];
  stay: StateCount[];
} {
  const unconfirmed = keptByReason.unconfirmed ?? 0;
  const holding = keptByReason["holds-later"] ?? 0;
  const some = (counts: StateCount[]) => counts.filter(({ count }) => count > 0);
  return {
    go: some([
      { state: "CONFIRMED", count: (byStatus.REDRIVEN ?? 0) - unconfirmed },
      { state: "IGNORED", count: (byStatus.IGNORED ?? 0) - holding },
    ]),
    stay: some([
      { state: "PENDING", count: byStatus.PENDING ?? 0 },
      { state: "QUEUED", count: byStatus.QUEUED ?? 0 },
      { state: "REDRIVEN", count: unconfirmed },
      { state: "IGNORED", count: holding },
    ]),
  };
}

/** `Remove 118 of 121 events`. Before anything is counted: the number of the selection, or none. */
export function removalTitle(preview: Counts | undefined, total: number | null): string {
  if (preview === undefined) return total === null ? "Remove all matching events" : `Remove ${plural(total, "event")}`;
  const { removable, kept } = preview;
  if (removable === null) return "Remove all matching events";
  if (removable === 0) return kept === 1 ? "This event stays" : "None of these events can be removed";
  return kept
    ? `Remove ${formatNumber(removable)} of ${plural(removable + kept, "event")}`
    : `Remove ${plural(removable, "event")}`;
}

export function removalVerb(preview: Counts | undefined): string {
  const removable = preview?.removable ?? null;
  return removable === null ? "Remove" : `Remove ${plural(removable, "event")}`;
}

/** Why some stay, and what to do about it; null = none stays. */
export function whyTheyStay(stay: readonly StateCount[]): string | null {
  return stay.length === 0 ? null : stay.map(whyOneStays).join(" ");
}

function whyOneStays({ state, count }: StateCount): string {
  const [they, are] = count === 1 ? ["One", "is"] : [formatNumber(count), "are"];
  if (state === "PENDING") return `${they} ${are} parked: ignore those that no one needs, then remove them.`;
  if (state === "IGNORED")
    return `${they} ${count === 1 ? "holds" : "hold"} later versions of the aggregate: send those first, or confirm or ignore them.`;
  if (state === "QUEUED") return `${they} ${are} in a redrive.`;
  return `${they} ${count === 1 ? "was" : "were"} redriven and may still bounce.`;
}
