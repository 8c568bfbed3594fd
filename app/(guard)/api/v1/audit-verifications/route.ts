import { handle } from "@/app/_server/handle";
import { requestVerification } from "@/lib/guard/audit-chain/request-verification";
import { verificationRequestSchema, verificationSchema } from "@/lib/guard/audit-chain/verifications.shapes";

export const POST = handle({
  id: "verifyAudit",
  summary: "Have a worker check the audit against its seals and anchors",
  body: verificationRequestSchema,
  largeBody: true,
  answer: verificationSchema,
  status: 202,
  run: ({ deps, viewer, body, nowMs }) => requestVerification(deps.db, viewer, body, nowMs),
});
