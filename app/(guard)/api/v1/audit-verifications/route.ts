import { handle } from "@/app/_server/handle";
import { requestVerification } from "@/lib/guard/audit-chain/request-verification";
import { verificationSchema } from "@/lib/guard/audit-chain/verifications.shapes";

export const POST = handle({
  id: "verifyAudit",
  summary: "Have a worker check the audit against its seals and anchors",
  answer: verificationSchema,
  status: 202,
  idempotent: true,
  run: ({ deps, viewer, nowMs }) => requestVerification(deps.db, viewer, nowMs),
});
