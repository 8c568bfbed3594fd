/**
 * The life of an event.
 *
 * It is parked as PENDING. A redrive that freezes it makes it QUEUED: exactly as long as it has an open item. When the
 * item is delivered it is REDRIVEN, and stays so unless the same event is parked again: that bounce makes it PENDING.
 * When the item is refused, failed or cancelled it is PENDING again. PENDING and IGNORED change into each other by an
 * operator's word, or to IGNORED by the redrive limit; only a person releases. Ignoring beats a queued redrive that has
 * not sent the event yet: its item is refused in the same transaction. Blacklisted, cooling and confirmed are
 * no states: they are facts beside it (a control, `cooldownUntil`, `confirmedAt`).
 */
export const EVENT_STATUSES = ["PENDING", "QUEUED", "REDRIVEN", "IGNORED"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export type EventMove =
  | "freeze"
  | "deliver"
  | "refuse"
  | "fail"
  | "cancel"
  | "bounce"
  | "ignore"
  | "exhaust"
  | "release"
  | "confirm";

const MOVES: Record<EventMove, Partial<Record<EventStatus, EventStatus>>> = {
  freeze: { PENDING: "QUEUED" },
  deliver: { QUEUED: "REDRIVEN" },
  refuse: { QUEUED: "PENDING" },
  fail: { QUEUED: "PENDING" },
  cancel: { QUEUED: "PENDING" },
  // A bounce may overtake the finish of its own delivery: the finish then parks it, see `afterDelivery`.
  bounce: { REDRIVEN: "PENDING" },
  ignore: { PENDING: "IGNORED", QUEUED: "IGNORED" },
  exhaust: { PENDING: "IGNORED", QUEUED: "IGNORED" },
  release: { IGNORED: "PENDING" },
  // The consumer's word that it processed the event, also when it came there by another way.
  confirm: { REDRIVEN: "REDRIVEN", PENDING: "REDRIVEN" },
};

/** The status after a move, or null when the move is not legal from here. */
export function nextStatus(from: EventStatus, move: EventMove): EventStatus | null {
  return MOVES[move][from] ?? null;
}

/** The statuses a move is legal from: what a compare-and-set must compare with. */
export function statusesBefore(move: EventMove): EventStatus[] {
  return EVENT_STATUSES.filter((status) => MOVES[move][status] !== undefined);
}

/** Statuses that count as parked now: `dlq_size`. */
export const PARKED_STATUSES: readonly EventStatus[] = ["PENDING", "QUEUED"];

/** How the surface names an event's state: the status refined by the facts beside it. */
export type ShownState = EventStatus | "BOUNCED" | "CONFIRMED" | "COOLING" | "BLACKLISTED";

export type StateFacts = {
  status: EventStatus;
  bounces: number;
  confirmedAtMs: number | null;
  cooldownUntilMs: number | null;
  blacklisted?: boolean;
};

export function shownState(facts: StateFacts, nowMs: number): ShownState {
  switch (facts.status) {
    case "PENDING":
      if (facts.blacklisted) return "BLACKLISTED";
      if (facts.cooldownUntilMs !== null && facts.cooldownUntilMs > nowMs) return "COOLING";
      return facts.bounces > 0 ? "BOUNCED" : "PENDING";
    case "REDRIVEN":
      return facts.confirmedAtMs === null ? "REDRIVEN" : "CONFIRMED";
    case "QUEUED":
    case "IGNORED":
      return facts.status;
  }
}
