import type { EventStatus } from "@/lib/core/event-state";
import { statusAfterFailure } from "@/lib/core/redrive-limit";

/**
 * Decides whether an arrival of a known event is a duplicate or a bounce.
 *
 * Every dead-letter queue delivers at least once: the same letter again is a duplicate and changes nothing. The arrival
 * is a bounce when Parkade had sent the event and the event came back. Parkade knows this in two ways. The letter
 * carries the mark of a redrive whose bounce is not counted yet. Or a consumer drops our headers, and the event was
 * redriven, or the redrive that holds it has begun to send it. A log (a Kafka topic, a stream) gives the first letter again,
 * from its place, when it is read again behind a message that was set aside: that is a duplicate, whatever became of the
 * event meanwhile. A bounce that arrives before the finish of its own
 * delivery leaves the event QUEUED: the finish finds the redrive in `bounced_redrives` and parks the event instead of
 * marking it redriven.
 *
 * `core/redrive-limit.ts` decides whether a bounced event is parked or ignored.
 */
export type KnownEvent = {
  status: EventStatus;
  /** The arrival lies at the same offset of the same log as the first letter of the event: it is that letter. */
  isFirstLetter: boolean;
  /** The redrives whose bounce was counted. A late copy of an older bounce is a duplicate too. */
  bouncedRedrives: readonly string[];
  /** The open redrive, if an attempt of it for this event was ever opened. */
  sendingRedrive: string | null;
  /** The redrive that delivered the event last. */
  deliveredRedrive: string | null;
  /** The number of deliver redrives that sent the event. */
  redrives: number;
};

export type ArrivalMeaning =
  | { kind: "duplicate" }
  /** `redriveId` null = the redrive that delivered the event is no longer stored. */
  | { kind: "bounce"; status: EventStatus; redriveId: string | null };

/**
 * `markedRedrive`: the redrive that the headers of the arrival name; null when they name none, or one that this store
 * does not know.
 */
export function meaningOf(known: KnownEvent, markedRedrive: string | null, redriveLimit: number): ArrivalMeaning {
  const bounce = (redriveId: string | null): ArrivalMeaning => {
    const { status, redrives } = known;
    return { kind: "bounce", status: statusAfterFailure(status, "bounce", { redrives, redriveLimit }), redriveId };
  };
  if (markedRedrive !== null) {
    return known.bouncedRedrives.includes(markedRedrive) ? { kind: "duplicate" } : bounce(markedRedrive);
  }
  if (known.isFirstLetter) return { kind: "duplicate" };
  if (known.status === "REDRIVEN") return bounce(known.deliveredRedrive);
  const sending = known.status === "QUEUED" ? known.sendingRedrive : null;
  return sending !== null && !known.bouncedRedrives.includes(sending) ? bounce(sending) : { kind: "duplicate" };
}
