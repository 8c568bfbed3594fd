import { keepPreviousData } from "@tanstack/react-query";
import type {
  ChangedRule,
  RuleChange,
  RuleDetail,
  RuleList,
  RuleRequest,
  Trial,
  TryRequest,
} from "@/lib/intake/admission/admission.shapes";
import { useRead } from "@/lib/platform/browser/resource.browser";
import { RULES_POLL_MS, ruleHooks } from "@/lib/rules/rules.browser";

const RULES = "/api/v1/admission-rules";

export type SavedRule = Omit<RuleRequest, "enabled">;
export const admissionRules = ruleHooks<RuleList, SavedRule, RuleChange, ChangedRule>(RULES, "admission", "admission");

/** One rule, with samples of what it dropped or failed on. */
export const useAdmissionRule = (id: string) =>
  useRead<RuleDetail>("admission", `${RULES}/${encodeURIComponent(id)}`, { refetchInterval: RULES_POLL_MS });

/** What a rule would do to the newest events; null asks for nothing. An earlier answer is shown during the read. */
export const useTrial = (request: TryRequest | null) =>
  useRead<Trial>("admission", `${RULES}/try`, { asks: request, placeholderData: keepPreviousData, retry: false });
