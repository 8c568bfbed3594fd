import { useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  RetentionChange,
  RetentionOut,
  RetentionPeriods,
  RetentionPreview,
} from "@/lib/keep/retention/retention.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 30_000;

export const useRetention = () =>
  useRead<RetentionOut>(keys.retention.periods, "/api/v1/retention", { refetchInterval: POLL_MS });

export const useRetentionPreview = () =>
  useRead<RetentionPreview>(keys.retention.preview, "/api/v1/retention/preview", { refetchInterval: POLL_MS });

/** What would expire with these periods; null = no request. */
export const useRetentionOf = (periods: RetentionPeriods | null) =>
  useRead<RetentionPreview>([...keys.retention.preview, periods], "/api/v1/retention/preview", { asks: periods });

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
