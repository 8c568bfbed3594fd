import type { EventStatus } from "@/lib/states/event-state.pure";
import { HOLDING_STATUSES } from "@/lib/states/event-state.pure";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";

/**
 * The order of an aggregate is a gate: an event is not sent while an earlier version of its aggregate is parked and
 * does not go before it in the same redrive. The request of a redrive may choose another rule:
 * - `hold`: an event behind a parked version is refused as `held-by-head`;
 * - `include`: the redrive also takes the earlier versions, each through the gate; a refused one holds the events
 *   behind it;
 * - `pass`: the event is sent ahead of the parked versions. A failure within the redrive still holds the events behind
 *   it.
 */
export const EARLIER_CHOICES = ["hold", "include", "pass"] as const;
export type Earlier = (typeof EARLIER_CHOICES)[number];

/** The first parked version of an aggregate above the version that its consumer has processed. */
export type Head = { id: string; eventId: string; version: bigint; status: (typeof HOLDING_STATUSES)[number] };

/** A version that is not newer than the one that its consumer has processed holds nothing back. */
export function isSuperseded({ version }: { version: bigint | null }, versionProcessed: bigint | null): boolean {
  return version !== null && versionProcessed !== null && version <= versionProcessed;
}

/** Only versions have a certain order. The time of parking says when an event failed, not when it was made. */
export function isHeldBy(event: { version: bigint | null }, head: Pick<Head, "version"> | null): boolean {
  return head !== null && event.version !== null && head.version < event.version;
}

/** Earlier versions that a sentence names; more of them are "and more". */
const NAMED_MAX = 4;
/** One more than are named: whether there are more is then known. */
export const HEADS_MAX = NAMED_MAX + 1;

/**
 * What holds the later versions: `versions 3 and 4 of order-7 are parked before it`. `heads`: the first parked versions in
 * their order, at least one.
 */
export function headsText(
  aggregateId: string,
  heads: readonly { eventId: string; version: bigint; status: EventStatus }[],
): string {
  const ignored = heads.every(({ status }) => status === "IGNORED");
  const names = heads
    .slice(0, NAMED_MAX)
    .map(({ version, status }) => (status === "IGNORED" && !ignored ? `${version} (ignored)` : `${version}`));
  if (heads.length > NAMED_MAX) names.push("more");
  const one = heads.length === 1 ? heads[0] : undefined;
  const versions = one ? `version ${one.version}` : `versions ${listed(names)}`;
  const event = one ? ` (event ${one.eventId})` : "";
  const are = one ? "is" : "are";
  const parked = ignored ? `ignored and ${one ? "comes" : "come"} before it` : "parked before it";
  return `${versions} of ${aggregateId}${event} ${are} ${parked}`;
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Why a head holds the later versions: the rest of a sentence about it. */
export function headReason({ status, failures, bounces, cooling }: HeadFacts): string {
  if (status === "IGNORED") return "it is ignored: by a person, or because it reached the redrive limit";
  if (cooling) return "it is cooling down after a failure";
  if (bounces > 0) return `it bounced ${bounces === 1 ? "once" : `${bounces} times`} and is parked again`;
  if (failures > 0) return `it failed ${failures === 1 ? "once" : `${failures} times`} and is still parked`;
  return "it is parked and has not been sent yet";
}

type HeadFacts = { status: (typeof HOLDING_STATUSES)[number]; failures: number; bounces: number; cooling: boolean };

type HeadState = Pick<Head, "version" | "status">;

/** Of these events of one aggregate those that hold the later versions, the head first. */
export function headsOf<Event extends { version: bigint | null; status: EventStatus; id: string }>(
  events: readonly Event[],
  versionProcessed: bigint | null,
): (Event & HeadState)[] {
  return events
    .filter(
      (event): event is Event & HeadState =>
        event.version !== null &&
        (HOLDING_STATUSES as readonly EventStatus[]).includes(event.status) &&
        !isSuperseded(event, versionProcessed),
    )
    .sort((a, b) => Number(a.version > b.version) - Number(a.version < b.version) || (a.id < b.id ? -1 : 1));
}

/** An item of a page that has ended before the next one of its aggregate is begun. */
export type EndedItem = {
  eventId: string;
  aggregateId: string | null;
  version: bigint | null;
  /** A person has let the later versions pass by it. */
  skipped: boolean;
  outcome: ItemOutcome;
};

/**
 * The effect of an earlier item's end on the next item of its aggregate in the same page; null = the next item may be
 * sent.
 */
export function heldBehind(ended: EndedItem, next: { version: bigint | null }, earlier: Earlier): ItemOutcome | null {
  const { eventId, aggregateId, skipped, outcome } = ended;
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
      // The earlier item is held by the head of the aggregate, so the next item is too.
      if (outcome.refusal === "held-by-head") return outcome;
      if (skipped) return null;
      if (outcome.refusal === "cooling") return held("cools down");
      // An event that is no longer parked, or is superseded, holds nothing back.
      if (["already-redriven", "version-superseded"].includes(outcome.refusal)) return null;
      return earlier !== "pass" && isHeldBy(next, asHead(ended)) ? held(`was refused: ${outcome.refusal}`) : null;
    case "later":
    case "behind":
      return { kind: "behind" };
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
