import type { Settings } from "@/lib/guard/settings/settings.pure";
import { EVENT_MOVES, type EventStatus, nextStatus } from "@/lib/states/event-state.pure";

/** True when an event that was sent in `redrives` deliver redrives must not be sent again. */
export function isExhausted(redrives: number, redriveLimit: number): boolean {
  return redrives >= redriveLimit;
}

/**
 * The status after a failure: a send that failed, or an event that bounced. Only this function decides what happens at
 * the redrive limit. `redrives` includes the redrive that failed. The status stays when the failure does not apply to
 * it.
 */
export function statusAfterFailure(
  from: EventStatus,
  move: "fail" | "bounce" | "deliverBounced",
  { redrives, redriveLimit }: { redrives: number; redriveLimit: number },
): EventStatus {
  const parked = nextStatus(from, move);
  if (parked === null) return from;
  return isExhausted(redrives, redriveLimit) ? EVENT_MOVES.exhaust.to : parked;
}

/** Cooldown after the n-th consecutive failure (n >= 1): first, doubled, doubled again, up to the cap. Milliseconds. */
export function cooldownAfter(failures: number, settings: Pick<Settings, "cooldownMs" | "cooldownMsMax">): number {
  const doublings = Math.min(Math.max(failures, 1) - 1, 40);
  return Math.min(settings.cooldownMs * 2 ** doublings, settings.cooldownMsMax);
}
