import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import type {
  RedriveRuleChange,
  RedriveRuleList,
  RedriveRuleOut,
  RedriveRuleRequest,
  RedriveRuleTrial,
  RedriveRuleTry,
} from "@/lib/rules/redrive-rules.shapes";

const POLL_MS = 5_000;
const RULES = "/api/v1/redrive-rules";

const path = (id: string) => `${RULES}/${encodeURIComponent(id)}`;

export function useRedriveRules() {
  return useQuery<RedriveRuleList, ApiError>({
    queryKey: keys.redriveRules.list,
    queryFn: ({ signal }) => fetchJson<RedriveRuleList>(RULES, { signal }),
    refetchInterval: POLL_MS,
  });
}

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

function useRuleMutation<Input, Answer>(send: (input: Input) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation<Answer, ApiError, Input>({
    mutationFn: send,
    onSuccess: () => void invalidateAfter(client, "redriveRules"),
  });
}

/** What the form leaves out has the defaults of the server. */
export type RuleFields = Pick<RedriveRuleRequest, "name" | "reason" | "filter" | "delayMs"> &
  Partial<Omit<RedriveRuleRequest, "name" | "reason" | "filter" | "delayMs">>;

export const useCreateRedriveRule = () =>
  useRuleMutation((body: RuleFields) => fetchJson<RedriveRuleOut>(RULES, { method: "POST", body, once: true }));

export const useChangeRedriveRule = () =>
  useRuleMutation(({ id, change }: { id: string; change: RedriveRuleChange }) =>
    fetchJson<RedriveRuleOut>(path(id), { method: "PATCH", body: change }),
  );

export const useDeleteRedriveRule = () =>
  useRuleMutation(({ id, reason }: { id: string; reason: string }) =>
    fetchJson(path(id), { method: "DELETE", body: { reason } }),
  );
