import { AUDIT_SUBJECTS, type AuditSubject } from "@/lib/contract/audit";
import { resolveInstant } from "@/lib/contract/event-filter";
import { type IdPage, idPageFrom, namedParams } from "@/lib/contract/id-page";
import { DomainError } from "@/lib/core/problem";

export type AuditQuery = IdPage & {
  actor: string | null;
  /** Whole, or the part before a dot: `event` is every `event.*`. */
  action: string | null;
  subjectKind: AuditSubject | null;
  subjectId: string | null;
  /** An event's id, or its eventId. */
  eventId: string | null;
  redriveId: string | null;
  fromMs: number | null;
  toMs: number | null;
};

const NAMES = ["actor", "action", "subjectKind", "subjectId", "eventId", "redriveId", "from", "to"] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function invalid(field: string, detail: string): DomainError {
  return new DomainError("invalid-filter", `${field} ${detail}`, { fields: [{ field, detail }] });
}

/** Throws DomainError `invalid-filter`, `invalid-request` or `invalid-cursor`. */
export function auditQueryFrom(params: URLSearchParams, nowMs: number): AuditQuery {
  const named = namedParams(params, NAMES);
  for (const name of NAMES) {
    if (named[name] === "" || named[name]?.includes("\0"))
      throw invalid(name, "must be text: leave it out to not restrict it");
  }
  const { subjectKind = null, redriveId = null } = named;
  if (subjectKind !== null && !(AUDIT_SUBJECTS as readonly string[]).includes(subjectKind)) {
    throw invalid("subjectKind", `must be one of ${AUDIT_SUBJECTS.join(", ")}`);
  }
  if (redriveId !== null && !UUID.test(redriveId)) throw invalid("redriveId", "must be a UUID");
  const [fromMs, toMs] = [instant("from", named.from, nowMs), instant("to", named.to, nowMs)];
  if (fromMs !== null && toMs !== null && fromMs > toMs)
    throw new DomainError("invalid-window", "The window is reversed: from is after to, swap them", {
      fields: [{ field: "from", detail: "is after to" }],
    });
  return {
    ...idPageFrom(params),
    actor: named.actor ?? null,
    action: named.action ?? null,
    subjectKind: subjectKind as AuditSubject | null,
    subjectId: named.subjectId ?? null,
    eventId: named.eventId ?? null,
    redriveId,
    fromMs,
    toMs,
  };
}

function instant(name: string, value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const ms = resolveInstant(value, nowMs);
  if (ms === null) throw invalid(name, "must be ISO 8601, epoch milliseconds, or like -24h");
  return ms;
}
