import type { AggregateMember, EventOut, ListedEvent } from "@/lib/events/events.shapes";
import type { HeldBehind } from "@/lib/order/tails/tails.shapes";
import { type ShownState, shownState } from "@/lib/states/event-state.pure";

type Facts = Pick<EventOut | AggregateMember, "status" | "bounces" | "confirmedAt" | "cooldownUntil"> &
  Partial<Pick<ListedEvent, "control" | "heldBehind">>;

/** The end of the cooling, epoch ms: the later of the event's cooldown and a control's; null = not cooling. */
function coolingUntilMs({ cooldownUntil, control }: Facts): number | null {
  // A whitelist overrides every cooldown.
  if (control?.kind === "whitelist") return null;
  const ends = [cooldownUntil, control?.kind === "cooldown" ? control.expiresAt : null];
  const known = ends.flatMap((end) => (end == null ? [] : [Date.parse(end)]));
  return known.length === 0 ? null : Math.max(...known);
}

/** The shown state of an event, and how long it still cools (ms) or what it is held behind. */
export function stateOf(
  event: Facts,
  nowMs: number,
): { state: ShownState; remainingMs: number | null; heldBehind: HeldBehind | null } {
  const cooldownUntilMs = coolingUntilMs(event);
  const state = shownState(
    {
      status: event.status,
      bounces: event.bounces,
      confirmedAtMs: event.confirmedAt === null ? null : Date.parse(event.confirmedAt),
      cooldownUntilMs,
      blacklisted: event.control?.kind === "blacklist",
      held: event.heldBehind != null,
    },
    nowMs,
  );
  return {
    state,
    remainingMs: state === "COOLING" && cooldownUntilMs !== null ? cooldownUntilMs - nowMs : null,
    heldBehind: state === "HELD" ? (event.heldBehind ?? null) : null,
  };
}

/** `order-77 v3`. null without an aggregate: a version alone means nothing. */
export function aggregateText(event: Pick<EventOut, "aggregateId" | "version">): string {
  if (event.aggregateId === null) return "";
  return event.version === null ? event.aggregateId : `${event.aggregateId} v${event.version}`;
}

/** `v5`, or the event itself where it has no version. */
export function holderText({ version, eventId }: HeldBehind): string {
  return version === null ? eventId : `v${version}`;
}

type Place = { id: string; version: number | string | null };

/** Whether an event waits for the head of its aggregate. Only events with versions have an order. */
export function isBehind(event: Place, head: Place | undefined): boolean {
  if (head === undefined || event.id === head.id || event.version === null || head.version === null) return false;
  return BigInt(head.version) < BigInt(event.version);
}
