import * as z from "zod/mini";
import { idOut, named, nullableText, pageOut, timeOut } from "@/lib/platform/api/schemas.shapes";
import { AUDIT_SUBJECTS } from "@/lib/platform/plain/audit-entry.pure";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

const auditSchema = named(
  "AuditEntry",
  z.object({
    id: idOut,
    at: timeOut,
    actor: z.string(),
    /** `<subject>.<verb>`: event.parked, event.queued, event.ignored, redrive.paused, control.imposed ... */
    action: z.string(),
    subjectKind: z.enum(AUDIT_SUBJECTS),
    /** null when the entry covers several events. */
    subjectId: nullableText,
    redriveId: z.nullable(idOut),
    /** The bulk operation whose changes it stands for; null = the change was one transaction. */
    operationId: z.nullable(idOut),
    reason: nullableText,
    before: z.unknown(),
    after: z.unknown(),
    /**
     * How many state changes the entry stands for; of a bulk operation that runs, so far. null = not counted yet: of an export that
     * began, the entry `event.export-ended` says how many events left.
     */
    count: z.nullable(z.int()),
  }),
);
export type AuditOut = z.infer<typeof auditSchema>;

/** GET /api/v1/audit */
export const auditListSchema = pageOut(auditSchema);
export type AuditList = z.infer<typeof auditListSchema>;

/** GET /api/v1/audit/{id}/events: the events that an entry covers. Of one that has left the store only the id is known. */
const auditEventSchema = z.object({
  id: idOut,
  eventId: nullableText,
  source: nullableText,
  errorCode: nullableText,
  status: z.nullable(z.enum(EVENT_STATUSES)),
});
export type AuditEventOut = z.infer<typeof auditEventSchema>;
export const auditEventListSchema = pageOut(auditEventSchema);
export type AuditEventList = z.infer<typeof auditEventListSchema>;
