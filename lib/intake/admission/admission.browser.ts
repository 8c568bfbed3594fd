import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  ChangedRule,
  RuleChange,
  RuleDetail,
  RuleList,
  RuleRequest,
  Trial,
  TryRequest,
} from "@/lib/intake/admission/admission.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 5_000;
const RULES = "/api/v1/admission-rules";

const path = (id: string) => `${RULES}/${encodeURIComponent(id)}`;

export function useAdmissionRules() {
  return useQuery<RuleList, ApiError>({
    queryKey: keys.admission.list,
    queryFn: ({ signal }) => fetchJson<RuleList>(RULES, { signal }),
    refetchInterval: POLL_MS,
  });
}

/** One rule, with samples of what it dropped or failed on. */
export function useAdmissionRule(id: string) {
  return useQuery<RuleDetail, ApiError>({
    queryKey: keys.admission.detail(id),
    queryFn: ({ signal }) => fetchJson<RuleDetail>(path(id), { signal }),
    refetchInterval: POLL_MS,
  });
}

/** What a rule would do to the newest events; null asks for nothing. An earlier answer is shown during the read. */
export function useTrial(request: TryRequest | null) {
  return useQuery<Trial, ApiError>({
    queryKey: keys.admission.trial(request),
    queryFn: ({ signal }) => fetchJson<Trial>(`${RULES}/try`, { method: "POST", reads: true, body: request, signal }),
    enabled: request !== null,
    placeholderData: keepPreviousData,
    retry: false,
  });
}

export function useCreateRule() {
  const client = useQueryClient();
  return useMutation<ChangedRule, ApiError, RuleRequest>({
    mutationFn: (body) => fetchJson<ChangedRule>(RULES, { method: "POST", body, once: true }),
    onSuccess: () => void invalidateAfter(client, "admission"),
  });
}

export function useChangeRule() {
  const client = useQueryClient();
  return useMutation<ChangedRule, ApiError, { id: string; change: RuleChange }>({
    mutationFn: ({ id, change }) => fetchJson<ChangedRule>(path(id), { method: "PATCH", body: change }),
    onSuccess: () => void invalidateAfter(client, "admission"),
  });
}

export function useDeleteRule() {
  const client = useQueryClient();
  return useMutation<unknown, ApiError, { id: string; reason: string }>({
    mutationFn: ({ id, reason }) => fetchJson(path(id), { method: "DELETE", body: { reason } }),
    onSuccess: () => void invalidateAfter(client, "admission"),
  });
}
