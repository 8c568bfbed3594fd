import { type QueryClient, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { HoldList, HoldOut, HoldRequest } from "@/lib/keep/holds/holds.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 10_000;
const PAGE = 50;

/** @param state `live`: in force now; `ended`: lifted, newest first */
export function useHolds(state: "live" | "ended") {
  return useInfiniteQuery({
    queryKey: keys.holds({ state }),
    queryFn: ({ signal, pageParam }) => {
      const params = new URLSearchParams({ state, limit: String(PAGE) });
      if (pageParam) params.set("cursor", pageParam);
      return fetchJson<HoldList>(`/api/v1/holds?${params}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: state === "live" ? POLL_MS : false,
  });
}

async function placeHold(client: QueryClient, body: HoldRequest): Promise<HoldOut> {
  const placed = await fetchJson<HoldOut>("/api/v1/holds", { method: "POST", body, once: true });
  void invalidateAfter(client, "holds");
  return placed;
}

export function usePlaceHold() {
  const client = useQueryClient();
  return useMutation<HoldOut, ApiError, HoldRequest>({ mutationFn: (body) => placeHold(client, body) });
}

type Lift = { id: string; reason: string };

export async function liftHold(client: QueryClient, { id, reason }: Lift): Promise<void> {
  await fetchJson(`/api/v1/holds/${encodeURIComponent(id)}`, { method: "DELETE", body: { reason } });
  void invalidateAfter(client, "holds");
}

export function useLiftHold() {
  const client = useQueryClient();
  return useMutation<void, ApiError, Lift>({ mutationFn: (lift) => liftHold(client, lift) });
}
