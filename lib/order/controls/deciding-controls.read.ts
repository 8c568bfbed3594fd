import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { applyingControls, decidingControl, indexControls } from "@/lib/order/controls/control.pure";
import { readControlsOver } from "@/lib/order/controls/controls.read";
import type { AppliedControl } from "@/lib/order/controls/controls.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

/** What of an event decides which controls apply to it. */
export type ControlledEvent = {
  id: string;
  source: string;
  status: EventStatus;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
};

/**
 * The control that decides whether each event of a page may be sent now; null = none. Controls apply to PENDING events
 * only. Costs one index read for a page, however many controls there are. Reasons are masked for everybody, like the texts of a list.
 */
export async function readDecidingControls(
  db: Queryable,
  events: readonly ControlledEvent[],
  nowMs: number,
): Promise<Map<string, AppliedControl>> {
  const pending = events.filter((event) => event.status === "PENDING");
  if (pending.length === 0) return new Map();
  const index = indexControls(await readControlsOver(db, pending));
  const set = (await readMasks(db)).of(null);
  const found = new Map<string, AppliedControl>();
  for (const event of pending) {
    const deciding = decidingControl(applyingControls(index, event, nowMs));
    if (deciding === null) continue;
    const { expiresAtMs, ...control } = deciding;
    found.set(event.id, {
      ...control,
      aggregateType: control.aggregateType || null,
      reason: maskText(control.reason, set),
      expiresAt: isoOrNull(expiresAtMs),
    });
  }
  return found;
}
