import { useRead } from "@/lib/platform/browser/resource.browser";
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

export const redriveRules = ruleHooks<RedriveRuleList, RuleFields, RedriveRuleChange, RedriveRuleOut>(
  RULES,
  "redrive-rules",
  "redriveRules",
);

/** What a rule would have done in the past. It is asked once: each answer is stored, for the rule to be switched on with. */
export const useRedriveRuleTrial = (request: RedriveRuleTry) =>
  useRead<RedriveRuleTrial>("redrive-rules", `${RULES}/try`, {
    asks: request,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
