/**
 * The life of an event.
 *
 * An event is parked as PENDING. A redrive freezes it: it is QUEUED exactly as long as it has an open item. A delivered
 * item makes it REDRIVEN, and it stays REDRIVEN until it bounces. An event becomes PENDING again when it bounces, and
 * when its item is passed, refused, failed or cancelled. An item that its worker gives back leaves its event QUEUED. An
 * event that fails or bounces at the redrive limit is exhausted: IGNORED. A person ignores and releases events; the
 * redrive limit never releases. Ignoring an event also withdraws it from a redrive that has not sent it yet. A consumer
 * confirms an event that it has processed, also an event that Parkade did not send.
 *
 * Blacklisted, cooling, held, bounced and confirmed are not states. Other columns, tables and rows hold them: a control,
 * `cooldownUntil`, an earlier event of the aggregate, `bounces`, `confirmedAt`.
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
  // The bounce was recorded before the delivery was committed, or newer bytes of the event arrived before it.
  deliverBounced: { from: ["QUEUED"], to: "PENDING" },
  // The event was not sent: its consumer had processed it.
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

/** The status after a move; null when the move is not allowed from this status. */
export function nextStatus(from: EventStatus, move: EventMove): EventStatus | null {
  const { from: before, to } = EVENT_MOVES[move];
  return (before as readonly EventStatus[]).includes(from) ? to : null;
}

/** The statuses that count as parked: `dlq_size` is the number of these events. */
export const PARKED_STATUSES = ["PENDING", "QUEUED"] as const satisfies readonly EventStatus[];

export function isParked(status: EventStatus): boolean {
  return (PARKED_STATUSES as readonly EventStatus[]).includes(status);
}

/**
 * The state as the console and the API show it: the status, refined by cooldown, blacklist, order, bounces and confirmation.
 */
export type ShownState = EventStatus | "BOUNCED" | "CONFIRMED" | "COOLING" | "BLACKLISTED" | "HELD";

/** Each status in the order of an event's life, with the shown states that are a part of it. */
export const SHOWN_PARTS = {
  PENDING: ["BOUNCED", "HELD", "COOLING", "BLACKLISTED"],
  QUEUED: [],
  REDRIVEN: ["CONFIRMED"],
  IGNORED: [],
} as const satisfies Record<EventStatus, readonly Exclude<ShownState, EventStatus>[]>;

type StateFacts = {
  status: EventStatus;
  bounces: number;
  confirmedAtMs: number | null;
  cooldownUntilMs: number | null;
  blacklisted?: boolean;
  /** An earlier event of its aggregate holds it. */
  held?: boolean;
};

export function shownState(facts: StateFacts, nowMs: number): ShownState {
  switch (facts.status) {
    case "PENDING":
      if (facts.blacklisted) return "BLACKLISTED";
      if (facts.cooldownUntilMs !== null && facts.cooldownUntilMs > nowMs) return "COOLING";
      if (facts.held) return "HELD";
      return facts.bounces > 0 ? "BOUNCED" : "PENDING";
    case "REDRIVEN":
      return facts.confirmedAtMs === null ? "REDRIVEN" : "CONFIRMED";
    case "QUEUED":
    case "IGNORED":
      return facts.status;
  }
}

/**
 * In these statuses an event holds the later versions back: it was not sent, or its send failed. IGNORED is one of
 * them: the redrive limit ignored the event, or a person who has not decided about the later versions.
 */
export const HOLDING_STATUSES = ["PENDING", "IGNORED"] as const satisfies readonly EventStatus[];
