import { type QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ForgetList, ForgetPreview, ForgetRequest, ForgetWhat } from "@/lib/keep/forget/forget.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 3_000;
const PAGE = 50;

export function useForgets() {
  return useInfiniteQuery({
    queryKey: keys.forgets({ list: true }),
    queryFn: ({ signal, pageParam }) => {
      const params = new URLSearchParams({ limit: String(PAGE) });
      if (pageParam) params.set("cursor", pageParam);
      return fetchJson<ForgetList>(`/api/v1/forget?${params}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: POLL_MS,
  });
}

/** What a forget would do now; null = nothing is named yet. The answer is not kept: its key names a person. */
export function useForgetPreview(what: ForgetWhat | null) {
  return useQuery<ForgetPreview, ApiError>({
    queryKey: keys.forgets({ what }),
    queryFn: ({ signal }) =>
      fetchJson<ForgetPreview>("/api/v1/forget/preview", { method: "POST", body: what, signal, reads: true }),
    enabled: what !== null,
    gcTime: 0,
    retry: false,
  });
}

export async function forgetData(client: QueryClient, body: ForgetRequest): Promise<{ id: string; receipt: string }> {
  const begun = await fetchJson<{ id: string; receipt: string }>("/api/v1/forget", {
    method: "POST",
    body,
    once: true,
  });
  void invalidateAfter(client, "forgets");
  return begun;
}
