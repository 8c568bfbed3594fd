import { handle } from "@/app/_server/handle";
import { readChain } from "@/lib/guard/audit-chain/verifications.read";
import { auditChainSchema } from "@/lib/guard/audit-chain/verifications.shapes";

export const GET = handle({
  id: "getAuditChain",
  summary: "The end of the audit's hash chain, the last anchors and checks",
  answer: auditChainSchema,
  run: ({ deps, viewer }) => readChain(deps.db, viewer),
});
