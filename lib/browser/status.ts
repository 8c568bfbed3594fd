import { useQuery } from "@tanstack/react-query";
import type { StatusOut } from "@/lib/contract/stats";
import { type ApiError, fetchJson } from "./fetch-json";
import { keys } from "./keys";

/** What flows now, and whether the machine behind it is well. Polled; keeps the last answer when one fails. */
const STATUS_POLL_MS = 3_000;

export function useStatus() {
  return useQuery<StatusOut, ApiError>({
    queryKey: keys.status,
    queryFn: ({ signal }) => fetchJson<StatusOut>("/api/v1/status", { signal }),
    refetchInterval: STATUS_POLL_MS,
    staleTime: STATUS_POLL_MS,
    // The next poll is the retry.
    retry: false,
  });
}
