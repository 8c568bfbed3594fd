import { lineResponse } from "@/app/_server/export";
import { handle } from "@/app/_server/handle";
import { auditQuery } from "@/lib/guard/audit/audit-query.shapes";
import { exportAudit } from "@/lib/guard/audit-chain/audit-export.read";

export const GET = handle({
  id: "exportAudit",
  summary: "All entries that match as lines of JSON, newest first, each with its seal: for a SIEM",
  query: auditQuery,
  answer: { media: ["application/x-ndjson"] },
  run: ({ deps, viewer, query, nowMs }) => lineResponse(exportAudit(deps.db, viewer, query), "audit", nowMs),
});
