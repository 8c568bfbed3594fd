import { useQuery } from "@tanstack/react-query";
import type { Selection } from "@/lib/events/selection/selection.shapes";
import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

/** What a removal of these events would do now. Counted once: the number in the dialog is the one that is confirmed. */
export function useRemovalPreview(select: Selection) {
  return useQuery<RemovalPreview, ApiError>({
    queryKey: keys.removal({ select }),
    queryFn: ({ signal }) =>
      fetchJson<RemovalPreview>("/api/v1/events/remove/preview", {
        method: "POST",
        body: { select },
        signal,
        reads: true,
      }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}
