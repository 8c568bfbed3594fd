import { EVENT_MOVES, type EventStatus, nextStatus } from "@/lib/core/event-state";

/** Whether an event that was sent in `redrives` deliver redrives is not sent again. */
export function isExhausted(redrives: number, redriveLimit: number): boolean {
  return redrives >= redriveLimit;
}

/**
 * The status after a failure: a send that failed, or an event that bounced. The only place that decides what happens at
 * the redrive limit. `redrives` counts the one that failed. An event that is not where such a failure moves it from stays.
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
