import type { EventStatus } from "@/lib/core/event-state";
import type { ItemOutcome } from "@/lib/core/item-outcome";

/**
 * The order of an aggregate is a gate: an event is not sent while an earlier version of its aggregate is parked and does
 * not go before it in the same redrive. Who wants it otherwise says so with the redrive:
 * - `hold`: what is behind a parked version is refused as `held-by-head`;
 * - `include`: the earlier versions are taken along, each through the gate; one that is refused holds what is behind it;
 * - `pass`: sent all the same, ahead of what was parked. A failure within the redrive still holds what is behind it.
 */
export const EARLIER_CHOICES = ["hold", "include", "pass"] as const;
export type Earlier = (typeof EARLIER_CHOICES)[number];

/**
 * In these an event holds what is behind it: it was not sent, or its send failed. Ignored ones too: by the redrive limit,
 * or by a person who has not said what becomes of the versions after it.
 */
export const HOLDING_STATUSES = ["PENDING", "IGNORED"] as const satisfies readonly EventStatus[];

/** The first parked version of an aggregate above the one that its consumer has processed. */
export type Head = { id: string; eventId: string; version: bigint; status: (typeof HOLDING_STATUSES)[number] };

/** Only versions have an order that is certain: without one, the time of parking says when it failed, not when it was made. */
export function isHeldBy(event: { version: bigint | null }, head: Pick<Head, "version"> | null): boolean {
  return head !== null && event.version !== null && head.version < event.version;
}

export function headText(head: { eventId: string; version: bigint; status: EventStatus }): string {
  const { eventId, version, status } = head;
  return `event ${eventId} (version ${version}) comes first and is ${status === "IGNORED" ? "ignored" : "still parked"}`;
}

/** The head of these events, of one aggregate. */
export function headOf<Event extends { version: bigint | null; status: EventStatus; id: string }>(
  events: readonly Event[],
  versionProcessed: bigint | null,
): (Event & { version: bigint }) | null {
  const holding = events.filter(
    (event): event is Event & { version: bigint } =>
      event.version !== null &&
      (HOLDING_STATUSES as readonly EventStatus[]).includes(event.status) &&
      (versionProcessed === null || event.version > versionProcessed),
  );
  return holding.reduce<(Event & { version: bigint }) | null>((first, event) => {
    if (first === null || event.version < first.version) return event;
    return event.version === first.version && event.id < first.id ? event : first;
  }, null);
}

/** An item of a claim that has ended before the next one of its aggregate is begun. */
export type EndedItem = { eventId: string; aggregateId: string | null; version: bigint | null; outcome: ItemOutcome };

/** What the end of an earlier item means for the next one of its aggregate, in the same claim; null = it may go. */
export function heldBehind(ended: EndedItem, next: { version: bigint | null }, earlier: Earlier): ItemOutcome | null {
  const { eventId, aggregateId, outcome } = ended;
  if (aggregateId === null) return null;
  const held = (what: string): ItemOutcome => ({
    kind: "refused",
    refusal: "held-by-head",
    detail: `event ${eventId} comes first and ${what}`,
  });
  switch (outcome.kind) {
    case "failed":
      return held("failed");
    case "refused":
      if (outcome.refusal === "cooling") return held("cools down");
      // The head of it is the head of all.
      if (outcome.refusal === "held-by-head") return outcome;
      // What is no longer parked, or superseded, holds nothing.
      if (["already-redriven", "version-superseded"].includes(outcome.refusal)) return null;
      return earlier !== "pass" && isHeldBy(next, asHead(ended)) ? held(`was refused: ${outcome.refusal}`) : null;
    case "later":
    case "back":
      return { kind: "back" };
    case "delivered":
    case "already-processed":
    case "verified":
      return null;
  }
}

function asHead({ version }: EndedItem): { version: bigint } | null {
  return version === null ? null : { version };
}
