import { handle } from "@/app/_server/handle";
import { listApprovals } from "@/lib/guard/approvals/approvals.read";
import { approvalListSchema, approvalsQuery } from "@/lib/guard/approvals/approvals.shapes";

export const GET = handle({
  id: "listApprovals",
  summary: "Requests for approval, newest first",
  query: approvalsQuery,
  answer: approvalListSchema,
  coalesce: true,
  run: ({ deps, viewer, query: { state, ...page } }) =>
    listApprovals(deps.db, viewer, { ...page, state: state ?? null }),
});
