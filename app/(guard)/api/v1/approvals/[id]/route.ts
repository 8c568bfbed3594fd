import { handle } from "@/app/_server/handle";
import { shownApproval } from "@/lib/guard/approvals/approvals.read";
import { approvalDecisionSchema, approvalSchema } from "@/lib/guard/approvals/approvals.shapes";
import { byId } from "@/lib/platform/api/query.shapes";
import { decideApproval } from "@/lib/redrive/life/decide-approval";

const params = byId("unknown-approval");

export const GET = handle({
  id: "getApproval",
  summary: "The latest request for approval of a redrive or bulk operation",
  params,
  answer: approvalSchema,
  coalesce: true,
  run: ({ deps, viewer, params: { id } }) => shownApproval(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "decideApproval",
  summary: "Approve or reject what another person asked for; names the digest of what was looked at",
  params,
  body: approvalDecisionSchema,
  answer: approvalSchema,
  problems: ["illegal-transition", "approval-outdated"],
  run: async ({ deps, params: { id }, body, viewer }) => {
    await decideApproval(deps, { id, decision: body }, viewer);
    return shownApproval(deps.db, viewer, id);
  },
});
