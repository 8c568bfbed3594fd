import type { EventStatus } from "@/lib/core/event-state";
import { statusAfterFailure } from "@/lib/core/redrive-limit";

/**
 * Whether an arrival of a known event is a duplicate or a bounce.
 *
 * Every dead-letter queue delivers at least once: the same letter again is a duplicate and changes nothing. It is a
 * bounce when Parkade had sent the event and the event came back: when the letter carries the mark of a redrive whose
 * bounce is not counted yet; or, from a consumer that drops our headers, when the event was redriven, or when the redrive
 * that holds it has begun to send it. A bounce that arrives before the finish of its own delivery leaves the event QUEUED:
 * the finish finds the redrive in `bounced_redrives` and parks the event instead of marking it redriven.
 *
 * `core/redrive-limit.ts` decides whether a bounced event is parked or ignored.
 */
export type KnownEvent = {
  status: EventStatus;
  /** The redrives whose bounce was counted: a late copy of an older one is a duplicate too. */
  bouncedRedrives: readonly string[];
  /** The open redrive, if an attempt of it for this event was ever opened. */
  sendingRedrive: string | null;
  /** The redrive that delivered it last. */
  deliveredRedrive: string | null;
  /** Deliver redrives that sent it. */
  redrives: number;
};

export type ArrivalMeaning =
  | { kind: "duplicate" }
  /** `redriveId` null = delivered by a redrive that is no longer on record. */
  | { kind: "bounce"; status: EventStatus; redriveId: string | null };

/** `markedRedrive`: the redrive named by the arrival's headers, null when there is none that this store knows. */
export function meaningOf(known: KnownEvent, markedRedrive: string | null, redriveLimit: number): ArrivalMeaning {
  const bounce = (redriveId: string | null): ArrivalMeaning => {
    const { status, redrives } = known;
    return { kind: "bounce", status: statusAfterFailure(status, "bounce", { redrives, redriveLimit }), redriveId };
  };
  if (markedRedrive !== null) {
    return known.bouncedRedrives.includes(markedRedrive) ? { kind: "duplicate" } : bounce(markedRedrive);
  }
  if (known.status === "REDRIVEN") return bounce(known.deliveredRedrive);
  const sending = known.status === "QUEUED" ? known.sendingRedrive : null;
  return sending !== null && !known.bouncedRedrives.includes(sending) ? bounce(sending) : { kind: "duplicate" };
}
