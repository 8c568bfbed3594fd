import { handle } from "@/app/_server/handle";
import { readVerification } from "@/lib/guard/audit-chain/verifications.read";
import { verificationSchema } from "@/lib/guard/audit-chain/verifications.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "getAuditVerification",
  summary: "A check of the audit",
  params: byId("unknown-audit-verification"),
  answer: verificationSchema,
  problems: ["unknown-audit-verification"],
  run: ({ deps, viewer, params }) => readVerification(deps.db, viewer, params.id),
});
