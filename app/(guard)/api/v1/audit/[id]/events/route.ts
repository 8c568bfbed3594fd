import { handle } from "@/app/_server/handle";
import { auditEventListSchema } from "@/lib/guard/audit/audit.shapes";
import { listAuditEvents } from "@/lib/guard/audit/audit-list.read";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "listAuditEvents",
  summary: "The events that an audit entry covers",
  params: byId("unknown-audit-entry"),
  query: idPageQuery({}),
  answer: auditEventListSchema,
  run: ({ deps, viewer, params, query }) => listAuditEvents(deps.db, viewer, params.id, query),
});
