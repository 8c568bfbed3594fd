import { comparePlaces, type OrderedItem } from "@/lib/order/aggregate.pure";
import { type Head, headsText, isHeldBy } from "@/lib/order/order-gate.pure";

/** What holds the event among the heads of its aggregate, in words; null = nothing. */
function behindHeads(event: OrderedItem, heads: readonly Head[]): string | null {
  const before = heads.filter((head) => isHeldBy(event, head));
  return event.aggregateId === null || before.length === 0 ? null : headsText(event.aggregateId, before);
}

/** What holds an aggregate. */
export type HoldingEvents = {
  /** The first parked versions in their order, the head first; at most HEADS_MAX. */
  heads: Head[];
  /** The first parked event that cools down after a failure. */
  cooling: { id: string; eventId: string; version: bigint | null }[];
};

type Holder = { id: string; eventId: string; version: bigint | null; text: string };

/** The head holds later versions. An event that cools down holds every event behind it, with or without a version. */
export function holderOf(event: OrderedItem, { heads, cooling }: HoldingEvents): Holder | null {
  const text = behindHeads(event, heads);
  if (text !== null) return { id: heads[0]!.id, eventId: heads[0]!.eventId, version: heads[0]!.version, text };
  const [first] = cooling
    .map((each) => ({ ...event, ...each }))
    .filter((each) => each.id !== event.id && comparePlaces(each, event) < 0)
    .sort(comparePlaces);
  return first
    ? {
        id: first.id,
        eventId: first.eventId,
        version: first.version,
        text: `event ${first.eventId} comes first and is cooling down`,
      }
    : null;
}
