import { handle } from "@/app/_server/handle";
import { auditListSchema } from "@/lib/contract/audit";
import { auditQuery } from "@/lib/contract/audit-query";
import { listAudit } from "@/lib/store/read/audit-list";

export const GET = handle({
  id: "listAudit",
  summary: "Who did what, newest first",
  query: auditQuery,
  answer: auditListSchema,
  run: ({ deps, viewer, query }) => listAudit(deps.db, viewer, query),
});
