import { handle } from "@/app/_server/handle";
import { auditQueryFrom } from "@/lib/contract/audit-query";
import { listAudit } from "@/lib/store/read/audit-list";

export const GET = handle({
  query: auditQueryFrom,
  run: ({ deps, viewer, query }) => listAudit(deps.db, viewer, query),
});
