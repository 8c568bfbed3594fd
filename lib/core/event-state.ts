/**
 * The life of an event.
 *
 * An event is parked as PENDING. A redrive freezes it: it is QUEUED exactly as long as it has an open item. A delivered
 * item makes it REDRIVEN; it stays so until it bounces. A bounce makes it PENDING again; so does an item that is passed,
 * refused, failed or cancelled. An item that its worker gives back leaves its event QUEUED. An event that fails or bounces at the redrive limit is exhausted: IGNORED. A person
 * ignores and releases events; the redrive limit never releases. Ignoring an event also withdraws it from a redrive that
 * has not sent it yet. A consumer confirms an event that it has processed, also one that Parkade did not send.
 * Blacklisted, cooling, bounced and confirmed are no states: they are facts beside it (a control, `cooldownUntil`,
 * `bounces`, `confirmedAt`).
 */
export const EVENT_STATUSES = ["PENDING", "QUEUED", "REDRIVEN", "IGNORED"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export type EventMove =
  | "freeze"
  | "deliver"
  | "deliverBounced"
  | "skip"
  | "pass"
  | "refuse"
  | "fail"
  | "cancel"
  | "giveBack"
  | "bounce"
  | "ignore"
  | "exhaust"
  | "release"
  | "confirm";

/** Each compare-and-set of `dlq_events.status`: the statuses it compares with, and the one it writes. */
export const EVENT_MOVES = {
  freeze: { from: ["PENDING"], to: "QUEUED" },
  deliver: { from: ["QUEUED"], to: "REDRIVEN" },
  // Its bounce was recorded before its delivery was committed.
  deliverBounced: { from: ["QUEUED"], to: "PENDING" },
  // Not sent: its consumer had processed it.
  skip: { from: ["QUEUED"], to: "REDRIVEN" },
  pass: { from: ["QUEUED"], to: "PENDING" },
  refuse: { from: ["QUEUED"], to: "PENDING" },
  fail: { from: ["QUEUED"], to: "PENDING" },
  cancel: { from: ["QUEUED"], to: "PENDING" },
  giveBack: { from: ["QUEUED"], to: "QUEUED" },
  bounce: { from: ["REDRIVEN"], to: "PENDING" },
  ignore: { from: ["PENDING", "QUEUED"], to: "IGNORED" },
  exhaust: { from: ["QUEUED", "REDRIVEN"], to: "IGNORED" },
  release: { from: ["IGNORED"], to: "PENDING" },
  confirm: { from: ["REDRIVEN", "PENDING"], to: "REDRIVEN" },
} as const satisfies Record<EventMove, { from: readonly EventStatus[]; to: EventStatus }>;

/** The status of an event that is parked for the first time. */
export const PARKED_AS = "PENDING" satisfies EventStatus;

/** The status after a move, or null when the move is not legal from here. */
export function nextStatus(from: EventStatus, move: EventMove): EventStatus | null {
  const { from: before, to } = EVENT_MOVES[move];
  return (before as readonly EventStatus[]).includes(from) ? to : null;
}

/** Statuses that count as parked now: `dlq_size`. */
export const PARKED_STATUSES = ["PENDING", "QUEUED"] as const satisfies readonly EventStatus[];

export function isParked(status: EventStatus): boolean {
  return (PARKED_STATUSES as readonly EventStatus[]).includes(status);
}

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
