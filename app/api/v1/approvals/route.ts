import { handle } from "@/app/_server/handle";
import { approvalListSchema, approvalsQuery } from "@/lib/contract/approvals";
import { listApprovals } from "@/lib/store/read/approvals";

export const GET = handle({
  id: "listApprovals",
  summary: "Requests for approval, newest first",
  query: approvalsQuery,
  answer: approvalListSchema,
  coalesce: true,
  run: ({ deps, viewer, query: { state, ...page } }) =>
    listApprovals(deps.db, viewer, { ...page, state: state ?? null }),
});
