import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { TailOut } from "@/lib/order/tails/tails.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 5_000;
const pathOf = (id: string, part: "tail" | "skip") => `/api/v1/events/${encodeURIComponent(id)}/${part}`;

/** The head of the aggregate of an event, and the events that it holds. */
export function useTail(id: string) {
  return useQuery<TailOut, ApiError>({
    queryKey: keys.events.tail(id),
    queryFn: ({ signal }) => fetchJson<TailOut>(pathOf(id, "tail"), { signal }),
    refetchInterval: POLL_MS,
    persister: unlessUnchanged,
  });
}

/** Skips a head (`skip`), or lets it hold again. */
export function useSkip() {
  const client = useQueryClient();
  return useMutation<TailOut, ApiError, { id: string; skip: boolean; reason: string }>({
    mutationFn: ({ id, skip, reason }) =>
      fetchJson<TailOut>(pathOf(id, "skip"), { method: skip ? "PUT" : "DELETE", body: { reason } }),
    onSuccess: () => invalidateAfter(client, "events"),
  });
}
