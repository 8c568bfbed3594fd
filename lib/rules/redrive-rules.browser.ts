import { useQuery } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import type {
  RedriveRuleChange,
  RedriveRuleList,
  RedriveRuleOut,
  RedriveRuleRequest,
  RedriveRuleTrial,
  RedriveRuleTry,
} from "@/lib/rules/redrive-rules.shapes";
import { ruleHooks } from "@/lib/rules/rules.browser";

const RULES = "/api/v1/redrive-rules";

/** What the form leaves out has the defaults of the server. */
export type RuleFields = Pick<RedriveRuleRequest, "name" | "reason" | "filter" | "delayMs"> &
  Partial<Omit<RedriveRuleRequest, "name" | "reason" | "filter" | "delayMs">>;

export const redriveRules = ruleHooks<RedriveRuleList, RuleFields, RedriveRuleChange, RedriveRuleOut>(RULES, {
  list: keys.redriveRules.list,
  changed: "redriveRules",
});

/** What a rule would have done in the past. It is asked once: each answer is stored, for the rule to be switched on with. */
export function useRedriveRuleTrial(request: RedriveRuleTry) {
  return useQuery<RedriveRuleTrial, ApiError>({
    queryKey: keys.redriveRules.trial(request),
    queryFn: ({ signal }) =>
      fetchJson<RedriveRuleTrial>(`${RULES}/try`, { method: "POST", reads: true, body: request, signal }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}
