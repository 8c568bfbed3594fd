import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ApprovalDecision, ApprovalList, ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";

const POLL_MS = 5_000;
const PAGE = 50;

/** Requests for approval, newest first; `asked`: only those that nobody has answered. */
export function useApprovals(state: ApprovalOut["state"] | "all") {
  const path = `/api/v1/approvals?limit=${PAGE}${state === "all" ? "" : `&state=${state}`}`;
  return usePages<ApprovalList>("approvals", path, () => POLL_MS);
}

export function useDecideApproval(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (decision: ApprovalDecision) =>
      fetchJson<ApprovalOut>(`/api/v1/approvals/${encodeURIComponent(id)}`, { method: "PATCH", body: decision }),
    // Also after a refusal: what is shown may be what has changed.
    onSettled: () => invalidateAfter(client, "redrives"),
  });
}
