import { handle } from "@/app/_server/handle";
import { auditListSchema } from "@/lib/guard/audit/audit.shapes";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import { auditQuery } from "@/lib/guard/audit/audit-query.shapes";

export const GET = handle({
  id: "listAudit",
  summary: "Who did what, newest first",
  query: auditQuery,
  answer: auditListSchema,
  run: ({ deps, viewer, query }) => listAudit(deps.db, viewer, query),
});
