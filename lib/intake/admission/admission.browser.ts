import { keepPreviousData, useQuery } from "@tanstack/react-query";
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
import { keys } from "@/lib/platform/browser/keys.browser";
import { RULES_POLL_MS, ruleHooks } from "@/lib/rules/rules.browser";

const RULES = "/api/v1/admission-rules";

export type SavedRule = Omit<RuleRequest, "enabled">;
export const admissionRules = ruleHooks<RuleList, SavedRule, RuleChange, ChangedRule>(RULES, {
  list: keys.admission.list,
  changed: "admission",
});

/** One rule, with samples of what it dropped or failed on. */
export function useAdmissionRule(id: string) {
  return useQuery<RuleDetail, ApiError>({
    queryKey: keys.admission.detail(id),
    queryFn: ({ signal }) => fetchJson<RuleDetail>(`${RULES}/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: RULES_POLL_MS,
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
