import type { BulkState } from "@/lib/core/bulk-operation";
import type { ControlScope } from "@/lib/core/control";
import type { Header, Origin } from "@/lib/core/dead-letter";
import type { EventStatus } from "@/lib/core/event-state";
import type { ProblemCode } from "@/lib/core/problem";

/** One event on the wire. Times are ISO 8601 UTC; `version` is text when beyond 2^53, else a number. */
export type EventOut = {
  id: string;
  source: string;
  eventId: string;
  aggregateId: string | null;
  aggregateType: string | null;
  version: number | string | null;
  eventType: string | null;
  errorCode: string;
  fingerprint: string;
  status: EventStatus;
  attempts: number;
  bounces: number;
  firstSeen: string;
  failedAt: string | null;
  lastAttemptAt: string | null;
  lastErrorCode: string | null;
  lastError: string | null;
  lastOperator: string | null;
  redriveAt: string | null;
  confirmedAt: string | null;
  cooldownUntil: string | null;
  traceId: string | null;
  payloadBytes: number;
  tags: Record<string, string>;
};

/**
 * An event as a list shows it. `control`: the one that decides whether it may be sent now (a blacklist, a cooldown, or the
 * whitelist that overrides them); null = none does.
 */
export type ListedEvent = EventOut & { control: AppliedControl | null };

export type EventList = { items: ListedEvent[]; nextCursor: string | null; prevCursor: string | null };

/** How many match. `atLeast`: counting stopped at the bound; `estimated`: by the planner; null value: unknown. */
export type CountOut = { value: number | null; kind: "exact" | "estimated" | "atLeast"; asOf: string };

/** GET /api/v1/events/count?filter -> total, and the same by shown status. */
export type EventCounts = { total: CountOut; byStatus: Partial<Record<string, CountOut>> };

export type BodyOut = {
  contentType: string;
  /** The payload as text when it is valid UTF-8, else null. Exact bytes: GET /api/v1/events/{id}/payload. */
  text: string | null;
  base64: string;
  bytes: number;
};

/** One fact in an event's history, oldest first. `text` is ready to show; the rest is for linking and detail. */
export type HistoryEntry = {
  at: string;
  kind: "parked" | "bounced" | "duplicate" | "verdict" | "attempt" | "state" | "control" | "confirmed";
  text: string;
  actor: string | null;
  reason: string | null;
  redriveId: string | null;
  auditId: string | null;
  detail: Record<string, unknown>;
};

export type AppliedControl = {
  id: string;
  kind: "blacklist" | "whitelist" | "cooldown";
  scope: ControlScope;
  value: string;
  /** The one source it holds for; null = all sources, or the scope is a source. */
  source: string | null;
  aggregateType: string | null;
  reason: string;
  origin: "person" | "automatic";
  createdBy: string;
  expiresAt: string | null;
};

export type AggregateMember = {
  id: string;
  eventId: string;
  version: number | string | null;
  eventType: string | null;
  errorCode: string;
  status: EventStatus;
  bounces: number;
  confirmedAt: string | null;
  cooldownUntil: string | null;
  firstSeen: string;
  /** The first parked version that is not superseded: it holds later versions. */
  head: boolean;
};

/** The event that a redrive of this one would wait for, by the rule of the redrive itself. `text` is ready to show. */
export type HeldBy = { id: string; eventId: string; text: string };

/** GET /api/v1/events/{id} */
export type EventDetail = ListedEvent & {
  body: BodyOut;
  headers: Header[];
  errorDetail: { type: string | null; message: string | null; stack: string | null };
  origin: Origin;
  history: HistoryEntry[];
  aggregate: AggregateMember[];
  /** null = nothing holds it, or it is not waiting to be sent. */
  heldBy: HeldBy | null;
  controls: AppliedControl[];
  group: { fingerprint: string; pattern: string; parked: number } | null;
  target: { main: string | null; slow: string | null };
};

/** GET /api/v1/events/{id}/neighbours?filter: the previous and next of the filtered list. */
export type Neighbours = { previous: string | null; next: string | null };

/** POST /api/v1/events -> 202 */
export type ParkAnswer = {
  accepted: number;
  duplicates: number;
  bounced: number;
  /** At most 1,000 are listed; `index` is the place within the request, from 0. */
  rejected: { index: number; code: ProblemCode; detail: string; field?: string }[];
  /** All refused ones, listed or not. */
  rejectedTotal: number;
};

export type GroupOut = {
  fingerprint: string;
  errorCode: string;
  exceptionType: string | null;
  pattern: string;
  firstFrame: string | null;
  sampleEvent: string;
  firstSeen: string;
  lastSeen: string;
  counts: Record<EventStatus, number>;
  sources: string[];
  /** Parked per hour over the last 24 h, oldest first. */
  trend: number[];
};
export type GroupList = { items: GroupOut[]; nextCursor: string | null };

/**
 * POST /api/v1/events/ignore | release | confirm -> 202. `refused` by reason, as in Refusal, or `not-pending`,
 * `not-ignored`, `already-ignored`, `already-confirmed`, `in-flight`, `changed-meanwhile`, `store-refused`.
 */
export type BulkAnswer = {
  /** The bulk operation that changes them, where they are more than BULK_NOW_MAX; null = all is done. */
  id: string | null;
  state: BulkState;
  changed: number;
  refused: Record<string, number>;
  /** Those that changed, so that the change can be taken back; null = the operation names them. */
  ids: string[] | null;
  /** Events that were being sent and still are (`in-flight` among the refused); null = the store did not say. */
  underWay: number | null;
};

/** Events that a request changes itself, in its own transaction. */
export const BULK_NOW_MAX = 2_000;
