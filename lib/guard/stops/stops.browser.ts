import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ImposedStop } from "@/lib/guard/stops/stops.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";

/** `target` null = everything. */
type StopChange = { target: string | null; reason?: string };

const pathOf = (target: string | null) =>
  `/api/v1/stops/${target === null ? "everything" : `targets/${encodeURIComponent(target)}`}`;

export function useStopSends() {
  return useStopChange<ImposedStop>("PUT");
}

export function useResumeSends() {
  return useStopChange<{ lifted: boolean }>("DELETE");
}

function useStopChange<Answer>(method: "PUT" | "DELETE") {
  const client = useQueryClient();
  return useMutation<Answer, ApiError, StopChange>({
    mutationFn: ({ target, reason }) =>
      fetchJson<Answer>(pathOf(target), { method, body: reason === undefined ? {} : { reason } }),
    onSuccess: () => invalidateAfter(client, "stops"),
  });
}
