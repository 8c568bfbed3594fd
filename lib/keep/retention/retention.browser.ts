import { skipToken, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  RetentionChange,
  RetentionOut,
  RetentionPeriods,
  RetentionPreview,
} from "@/lib/keep/retention/retention.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 30_000;

export function useRetention() {
  return useQuery<RetentionOut, ApiError>({
    queryKey: keys.retention.periods,
    queryFn: ({ signal }) => fetchJson<RetentionOut>("/api/v1/retention", { signal }),
    refetchInterval: POLL_MS,
  });
}

export function useRetentionPreview() {
  return useQuery<RetentionPreview, ApiError>({
    queryKey: keys.retention.preview,
    queryFn: ({ signal }) => fetchJson<RetentionPreview>("/api/v1/retention/preview", { signal }),
    refetchInterval: POLL_MS,
  });
}

/** What would expire with these periods; null = no request. The previous answer stays while other periods are counted. */
export function useRetentionOf(periods: RetentionPeriods | null) {
  return useQuery<RetentionPreview, ApiError>({
    queryKey: [...keys.retention.preview, periods],
    queryFn:
      periods === null
        ? skipToken
        : ({ signal }) =>
            fetchJson<RetentionPreview>("/api/v1/retention/preview", {
              method: "POST",
              body: periods,
              signal,
              reads: true,
            }),
  });
}

export function useChangeRetention() {
  const client = useQueryClient();
  return useMutation<RetentionOut, ApiError, RetentionChange>({
    mutationFn: (body) => fetchJson<RetentionOut>("/api/v1/retention", { method: "PUT", body }),
    onSuccess: (retention) => {
      client.setQueryData(keys.retention.periods, retention);
      void client.invalidateQueries({ queryKey: keys.retention.preview });
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
  });
}
