import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ApprovalDecision, ApprovalList, ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 5_000;
const PAGE = 50;

/** Requests for approval, newest first; `asked`: only those that nobody has answered. */
export function useApprovals(state: ApprovalOut["state"] | "all") {
  return useInfiniteQuery({
    queryKey: [...keys.approvals, state],
    queryFn: ({ signal, pageParam }) => {
      const params = new URLSearchParams({ limit: String(PAGE) });
      if (state !== "all") params.set("state", state);
      if (pageParam) params.set("cursor", pageParam);
      return fetchJson<ApprovalList>(`/api/v1/approvals?${params}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: POLL_MS,
  });
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
