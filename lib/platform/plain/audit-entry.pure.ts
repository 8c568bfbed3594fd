export const AUDIT_SUBJECTS = [
  "event",
  "redrive",
  "control",
  /** Only in entries of releases that had legal holds. */
  "hold",
  "source",
  "target",
  "policy",
  "view",
  "setting",
  "operation",
  "rule",
  "stop",
  "redrive-rule",
  "recipe",
  "forget",
  "retention",
  "alert",
  "alert-rule",
  "channel",
  "maintenance",
  "marker",
  "group",
  "account",
  "session",
  "token",
  "mask-rule",
] as const;
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number];

export type AuditEntry = {
  /** The actor: a person, `api`, or a part of Parkade such as `worker`. */
  actor: string;
  /** `<subject>.<verb>`: event.parked, event.queued, redrive.paused ... */
  action: string;
  /** Absent = as `action` begins. */
  subjectKind?: AuditSubject;
  /**
   * Events, redrives, controls: their id. Sources, targets, policies, views: their name. Absent or null = the entry covers
   * several, or everything.
   */
  subjectId?: string | null;
  redriveId?: string | null;
  reason?: string | null;
  /** The values before and after: small values, never a payload, never a secret. */
  before?: unknown;
  after?: unknown;
  /** The number of state changes that the entry covers; absent = 1. null = not known yet: an export begins, and its end is another entry. */
  count?: number | null;
  atMs: number;
  /**
   * The events whose state the entry covers: the history of each shows the entry. Of a lift of many, the controls. As text:
   * the array as the server writes it.
   */
  eventIds?: readonly string[] | string;
  /** The entry lists its events, and no row is written for each: its id says how they are found, see `subjects.sql.ts`. */
  listed?: { entryId: string };
};
