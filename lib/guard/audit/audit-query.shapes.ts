import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { filterText, instant } from "@/lib/platform/api/instant.shapes";
import { thenRead } from "@/lib/platform/api/query.shapes";
import { described, uuidText } from "@/lib/platform/api/schemas.shapes";
import { resolveWindow } from "@/lib/platform/instant.pure";
import { AUDIT_SUBJECTS } from "@/lib/platform/plain/audit-entry.pure";

const text = (description: string) => described(z.optional(filterText(512)), description);

const page = idPageQuery(
  {
    actor: text("Who did it"),
    by: described(
      z.optional(z.enum(["people", "all"], "must be people or all")),
      "people: without what Parkade itself did",
    ),
    action: text("The whole action, or the part before a dot: event matches every event.*"),
    subjectKind: described(
      z.optional(z.enum(AUDIT_SUBJECTS, `must be one of ${AUDIT_SUBJECTS.join(", ")}`)),
      "What it was done to",
    ),
    subjectId: text("Its id or name"),
    eventId: text("An event's id, or its eventId"),
    redriveId: described(z.optional(uuidText()), "Of a redrive"),
    operationId: described(z.optional(uuidText()), "Of a bulk operation: its changes and its cancel"),
    from: described(z.optional(instant), "At or after: ISO 8601, epoch milliseconds, or relative like -24h"),
    to: described(z.optional(instant), "Before, in the same forms"),
  },
  "invalid-filter",
);

/** GET /api/v1/audit */
export const auditQuery = thenRead(page, ["invalid-window"], ({ from, to, ...query }, nowMs) => ({
  ...query,
  ...resolveWindow({ from: from ?? undefined, to: to ?? undefined }, nowMs),
}));
export type AuditQuery = ReturnType<typeof auditQuery.read>;
