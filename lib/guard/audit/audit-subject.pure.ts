/** The kinds of things that an audit entry can be about. */
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
  "rule",
  "stop",
  "redrive-rule",
  "recipe",
] as const;
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number];
