import type { ApprovalDecision, ApprovalList, ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { useChange } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 5_000;
const PAGE = 50;

/** Requests for approval, newest first; `asked`: only those that nobody has answered. */
export function useApprovals(state: ApprovalOut["state"] | "all") {
  const path = `/api/v1/approvals?limit=${PAGE}${state === "all" ? "" : `&state=${state}`}`;
  return usePages<ApprovalList>("approvals", path, () => POLL_MS);
}

export const useDecideApproval = (id: string) =>
  useChange(
    "redrives",
    (body: ApprovalDecision) =>
      fetchJson<ApprovalOut>(`/api/v1/approvals/${encodeURIComponent(id)}`, { method: "PATCH", body }),
    { refused: true },
  );
