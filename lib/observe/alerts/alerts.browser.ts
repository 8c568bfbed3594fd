import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { AlertAcknowledge, AlertList, AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import type {
  AlertRuleChange,
  AlertRuleList,
  AlertRuleOut,
  AlertRuleRequest,
  AlertTrialOut,
  AlertWatch,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";

const POLL_MS = 5_000;
const PAGE = 50;

export function useAlerts(state: "firing" | "resolved" | "pending", params: { source?: string; rule?: string } = {}) {
  const query = new URLSearchParams({ state, limit: String(PAGE), ...params });
  return usePages<AlertList>(keys.alerts({ state, ...params }), `/api/v1/alerts?${query}`, firstPageEvery(POLL_MS));
}

export function useAlert(id: string) {
  return useQuery<AlertOut, ApiError>({
    queryKey: keys.alerts({ id }),
    queryFn: ({ signal }) => fetchJson<AlertOut>(`/api/v1/alerts/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: POLL_MS,
  });
}

type Acknowledged = { changed: number; unchanged: number };

export async function acknowledge(client: QueryClient, body: AlertAcknowledge): Promise<Acknowledged> {
  const answer = await fetchJson<Acknowledged>("/api/v1/alerts/acknowledge", { method: "POST", body });
  void invalidateAfter(client, "alerts");
  return answer;
}

export function useAcknowledge() {
  const client = useQueryClient();
  return useMutation<Acknowledged, ApiError, AlertAcknowledge>({ mutationFn: (body) => acknowledge(client, body) });
}

export function useAlertRules() {
  return usePages<AlertRuleList>(keys.alertRules.list, "/api/v1/alert-rules?limit=200", firstPageEvery(3 * POLL_MS));
}

export function useSaveAlertRule(id: string | null) {
  const client = useQueryClient();
  return useMutation<AlertRuleOut, ApiError, AlertRuleRequest | AlertRuleChange>({
    mutationFn: async (body) => {
      const saved =
        id === null
          ? await fetchJson<AlertRuleOut>("/api/v1/alert-rules", { method: "POST", body, once: true })
          : await fetchJson<AlertRuleOut>(`/api/v1/alert-rules/${id}`, { method: "PATCH", body });
      void invalidateAfter(client, "alerts");
      return saved;
    },
  });
}

export function useDeleteAlertRule() {
  const client = useQueryClient();
  return useMutation<void, ApiError, { id: string; reason: string }>({
    mutationFn: async ({ id, reason }) => {
      await fetchJson(`/api/v1/alert-rules/${id}`, { method: "DELETE", body: { reason } });
      void invalidateAfter(client, "alerts");
    },
  });
}

/** What a rule would have done; null = what is typed is no rule yet. */
export function useAlertTrial(watch: AlertWatch | null) {
  return useQuery<AlertTrialOut, ApiError>({
    queryKey: keys.alertRules.trial(watch),
    queryFn: ({ signal }) =>
      fetchJson<AlertTrialOut>("/api/v1/alert-rules/try", { method: "POST", body: { watch }, signal, reads: true }),
    enabled: watch !== null,
    retry: false,
    staleTime: 60_000,
  });
}
