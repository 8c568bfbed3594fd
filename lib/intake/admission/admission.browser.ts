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
import { resourceOf, useRead } from "@/lib/platform/browser/resource.browser";

const RULES = "/api/v1/admission-rules";
const POLL_MS = 5_000;

export type SavedRule = Omit<RuleRequest, "enabled">;
export const admissionRules = resourceOf<ChangedRule, SavedRule, RuleChange>(RULES, "admission");

export const useAdmissionRules = () => useRead<RuleList>("admission", RULES, { refetchInterval: POLL_MS });

/** One rule, with samples of what it dropped or failed on. */
export const useAdmissionRule = (id: string) =>
  useRead<RuleDetail>("admission", `${RULES}/${encodeURIComponent(id)}`, { refetchInterval: POLL_MS });

/** What a rule would do to the newest events; null asks for nothing. An earlier answer is shown during the read. */
export const useTrial = (request: TryRequest | null) =>
  useRead<Trial>("admission", `${RULES}/try`, {
    asks: request,
    placeholderData: keepPreviousData,
    retry: false,
  });
