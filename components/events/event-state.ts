import type { AggregateMember, EventDetail, EventOut } from "@/lib/contract/events";
import { type ShownState, shownState } from "@/lib/core/event-state";

type Facts = Pick<EventOut | AggregateMember, "status" | "bounces" | "confirmedAt" | "cooldownUntil">;

/** The state the surface shows for an event of the wire, and how long it still cools (ms, null when it does not). */
export function stateOf(
  event: Facts & Partial<Pick<EventDetail, "controls">>,
  nowMs: number,
): { state: ShownState; remainingMs: number | null } {
  const cooldownUntilMs = event.cooldownUntil === null ? null : Date.parse(event.cooldownUntil);
  const state = shownState(
    {
      status: event.status,
      bounces: event.bounces,
      confirmedAtMs: event.confirmedAt === null ? null : Date.parse(event.confirmedAt),
      cooldownUntilMs,
      blacklisted: event.controls?.some((control) => control.kind === "blacklist") ?? false,
    },
    nowMs,
  );
  return { state, remainingMs: state === "COOLING" && cooldownUntilMs !== null ? cooldownUntilMs - nowMs : null };
}

/** `order-77 v3`; the version alone when there is no aggregate makes no sense and is left out. */
export function aggregateText(event: Pick<EventOut, "aggregateId" | "version">): string {
  if (event.aggregateId === null) return "";
  return event.version === null ? event.aggregateId : `${event.aggregateId} v${event.version}`;
}
