import type { EventStatus } from "@/lib/core/event-state";

export const AUDIT_SUBJECTS = [
  "event",
  "redrive",
  "control",
  "source",
  "target",
  "policy",
  "view",
  "setting",
  "operation",
] as const;
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number];

/** GET /api/v1/audit?actor=&action=&subjectKind=&subjectId=&eventId=&redriveId=&from=&to=&limit=&cursor= */
export type AuditOut = {
  id: string;
  at: string;
  actor: string;
  /** `<subject>.<verb>`: event.parked, event.queued, event.ignored, redrive.paused, control.imposed ... */
  action: string;
  subjectKind: AuditSubject;
  /** null when the entry covers several events. */
  subjectId: string | null;
  redriveId: string | null;
  /** The bulk operation whose changes it stands for; null = the change was one transaction. */
  operationId: string | null;
  reason: string | null;
  before: unknown;
  after: unknown;
  /** How many state changes the entry stands for; of a bulk operation that runs, so far. */
  count: number;
};
/**
 * GET /api/v1/audit/{id}/events?limit=&cursor=: the events that an entry covers. Of one that has left the store only the
 * id is known.
 */
export type AuditEventOut = {
  id: string;
  eventId: string | null;
  source: string | null;
  errorCode: string | null;
  status: EventStatus | null;
};
export type AuditEventList = { items: AuditEventOut[]; nextCursor: string | null };

export type AuditList = { items: AuditOut[]; nextCursor: string | null };
