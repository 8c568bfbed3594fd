import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/contract/api-error";
import type { TailOut } from "@/lib/contract/tails";
import { fetchJson } from "./fetch-json";
import { invalidateAfter, keys } from "./keys";

const POLL_MS = 5_000;
const pathOf = (id: string, part: "tail" | "skip") => `/api/v1/events/${encodeURIComponent(id)}/${part}`;

/** The head of the aggregate of an event, and the events that it holds. */
export function useTail(id: string) {
  return useQuery<TailOut, ApiError>({
    queryKey: keys.events.tail(id),
    queryFn: ({ signal }) => fetchJson<TailOut>(pathOf(id, "tail"), { signal }),
    refetchInterval: POLL_MS,
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
