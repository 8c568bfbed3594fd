import { statusAfterFailure } from "@/lib/order/after-failure.pure";
import { deadLetterPlace, type Origin } from "@/lib/platform/plain/dead-letter.pure";
import { type EventStatus, nextStatus } from "@/lib/states/event-state.pure";

/**
 * Decides whether an arrival of a known event is a duplicate, a bounce, or the event with other bytes.
 *
 * Every dead-letter queue delivers at least once: the same letter again is a duplicate and changes nothing. The arrival
 * is a bounce when Parkade had sent the event and the event came back. Parkade knows this in two ways. The letter
 * carries the mark of a redrive whose bounce is not counted yet. Or a consumer drops our headers, and the event was
 * redriven, or the redrive that holds it has begun to send it. A bounce that arrives before the finish of its own
 * delivery leaves the event QUEUED: the finish finds the redrive in `bounced_redrives` and parks the event instead of
 * marking it redriven.
 *
 * A letter from before the send is no bounce, whatever became of the event meanwhile: a log is read again, or a queue
 * delivers once more what was not acknowledged. It is known by its place, or by the time at which its broker stored it.
 *
 * `order/after-failure.pure.ts` decides whether a bounced event is parked or ignored.
 *
 * What would be a duplicate is news when no revision of the event holds its bytes: its producer has used the id again. They
 * become a revision. Bytes that some revision holds are a duplicate, whichever is the current one, so that a late repeat of an
 * earlier letter changes nothing. An event that has left the parked events is parked again for them, as by a bounce, but nothing
 * has failed: no redrive and no aggregate counts it. One in a redrive is parked again when it ends, see `moveFinishedEvents`.
 */
export type KnownEvent = {
  status: EventStatus;
  /** A revision of the event holds the bytes of the arrival. */
  hasBytes: boolean;
  /** The arrival lies at the place of a letter of the event that is stored (`placeOf`): it is that letter. */
  isStoredLetter: boolean;
  /** When Parkade stored the first letter of the event, by the store's clock. */
  firstSeenMs: number;
  /** When the broker stored that letter, by the broker's clock; null = it does not say. */
  firstStoredMs: number | null;
  /** When the redrive that sends the event, or that delivered it last, began to send it, by the store's clock. */
  sentAtMs: number | null;
  /** The redrives whose bounce was counted. A late copy of an older bounce is a duplicate too. */
  bouncedRedrives: readonly string[];
  /** The open redrive, if an attempt of it for this event was ever opened. */
  sendingRedrive: string | null;
  deliveredRedrive: string | null;
  /** The number of deliver redrives that sent the event. */
  redrives: number;
};

export type ArrivalMeaning =
  | { kind: "duplicate" }
  /** Its bytes are a further revision of the event, whose status stays. */
  | { kind: "changed" }
  /** `redriveId` null = the redrive that delivered the event is no longer stored, or none `failed`. */
  | { kind: "bounce"; status: EventStatus; redriveId: string | null; failed: boolean };

type ArrivedLetter = {
  /** The redrive that its headers name; null when they name none, or one that this store does not know. */
  markedRedrive: string | null;
  /** As `KnownEvent.firstStoredMs`, of the arrival. */
  storedMs: number | null;
};

/** What names one letter among all of its broker, apart from `properties` of that name. */
const PLACES = [
  ["topic", "partition", "offset"],
  ["stream", "sequence"],
  ["stream", "id"],
  ["set", "score"],
  ["address", "sequence"],
] as const;
/** The broker's own id of a message, which every send renews. */
const IDS = [
  ["queue", "MessageId"],
  ["queue", "delivery_tag"],
  ["subscription", "messageId"],
] as const;

/**
 * The part of an origin that no other letter shares: a place in a log, or the id that the broker gives each message. null =
 * the broker has neither, or uses it again: the id of a job or of a row stays when it fails anew.
 */
export function placeOf(origin: Origin): Pick<Origin, "deadLetter" | "properties"> | null {
  const at = deadLetterPlace(origin);
  const pick = (names: readonly string[]) =>
    names.every((name) => typeof at[name] === "string" || typeof at[name] === "number")
      ? { deadLetter: Object.fromEntries(names.map((name) => [name, at[name]])) }
      : null;
  for (const names of PLACES) {
    const place = pick(names);
    if (place !== null) return place;
  }
  for (const [name, idName] of IDS) {
    const [place, id] = [pick([name]), origin.properties?.[idName]];
    if (place !== null && typeof id === "string" && id !== "") return { ...place, properties: { [idName]: id } };
  }
  return null;
}

/** When the broker stored the letter, by its own clock; null = only a producer or a consumer says when. */
export function storedMsOf(origin: Origin): number | null {
  const { storedAtMs } = deadLetterPlace(origin);
  return typeof storedAtMs === "number" ? storedAtMs : null;
}

/** How far the clocks of two nodes of one broker may differ, or be set back between two letters. */
export const BROKER_SKEW_MS = 60_000;
/** RabbitMQ stamps whole seconds. */
const STAMP_MS = 1_000;

/**
 * The broker stored the letter before the send. The clocks of broker and store are never compared: their difference is
 * unknown and may be hours. Compared are two spans: between the first letter and this one by the broker's clock, between the
 * storing of the first letter and the send by the store's. The broker had the first letter before the store did, so a
 * letter from after the send has the longer span on the broker's clock, whatever that clock shows. Times that a consumer or a
 * producer states are not looked at: their clocks differ from each other, and a real bounce would be lost.
 */
function isFromBeforeSend({ firstSeenMs, firstStoredMs, sentAtMs }: KnownEvent, storedMs: number | null): boolean {
  if (storedMs === null || firstStoredMs === null || sentAtMs === null) return false;
  const spanMs = storedMs - firstStoredMs;
  return spanMs + (spanMs === 0 ? STAMP_MS : BROKER_SKEW_MS) < sentAtMs - firstSeenMs;
}

export function classifyArrival(
  known: KnownEvent,
  { markedRedrive, storedMs }: ArrivedLetter,
  redriveLimit: number,
): ArrivalMeaning {
  const bounce = (redriveId: string | null): ArrivalMeaning => {
    const { status, redrives } = known;
    const after = statusAfterFailure(status, "bounce", { redrives, redriveLimit });
    return { kind: "bounce", status: after, redriveId, failed: true };
  };
  const again = () => meaningOfRepeat(known);
  if (known.isStoredLetter) return again();
  if (markedRedrive !== null) {
    return known.bouncedRedrives.includes(markedRedrive) ? again() : bounce(markedRedrive);
  }
  if (isFromBeforeSend(known, storedMs)) return again();
  if (known.status === "REDRIVEN") return bounce(known.deliveredRedrive);
  const sending = known.status === "QUEUED" ? known.sendingRedrive : null;
  return sending !== null && !known.bouncedRedrives.includes(sending) ? bounce(sending) : again();
}

function meaningOfRepeat({ hasBytes, status }: KnownEvent): ArrivalMeaning {
  if (hasBytes) return { kind: "duplicate" };
  const parked = nextStatus(status, "bounce");
  return parked === null ? { kind: "changed" } : { kind: "bounce", status: parked, redriveId: null, failed: false };
}
