import { useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  RetentionChange,
  RetentionOut,
  RetentionPeriods,
  RetentionPreview,
} from "@/lib/keep/retention/retention.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { readKey } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 30_000;
const PATH = "/api/v1/retention";
const PREVIEW = `${PATH}/preview`;

export const useRetention = () => useRead<RetentionOut>("retention", PATH, { refetchInterval: POLL_MS });

export const useRetentionPreview = () => useRead<RetentionPreview>("retention", PREVIEW, { refetchInterval: POLL_MS });

/** What would expire with these periods; null = no request. */
export const useRetentionOf = (periods: RetentionPeriods | null) =>
  useRead<RetentionPreview>("retention", PREVIEW, { asks: periods });

export function useChangeRetention() {
  const client = useQueryClient();
  return useMutation<RetentionOut, ApiError, RetentionChange>({
    mutationFn: (body) => fetchJson<RetentionOut>(PATH, { method: "PUT", body }),
    onSuccess: (retention) => {
      client.setQueryData(readKey("retention", PATH), retention);
      void client.invalidateQueries({ queryKey: ["retention", PREVIEW] });
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
  });
}
