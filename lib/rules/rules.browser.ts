import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { type Change, invalidateAfter } from "@/lib/platform/browser/keys.browser";

export const RULES_POLL_MS = 5_000;

function useRuleMutation<Input, Answer>(changed: Change, send: (input: Input) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation<Answer, ApiError, Input>({
    mutationFn: send,
    onSuccess: () => void invalidateAfter(client, changed),
  });
}

/** The list of one kind of rules, and its changes; called once by each module of hooks. `api`: the address of the list. */
export function ruleHooks<List, Request, RuleChange, Changed>(
  api: string,
  { list, changed }: { list: readonly string[]; changed: Change },
) {
  const address = (id: string) => `${api}/${encodeURIComponent(id)}`;
  return {
    useRules: () =>
      useQuery<List, ApiError>({
        queryKey: list,
        queryFn: ({ signal }) => fetchJson<List>(api, { signal }),
        refetchInterval: RULES_POLL_MS,
      }),
    useCreate: () =>
      useRuleMutation(changed, (body: Request) => fetchJson<Changed>(api, { method: "POST", body, once: true })),
    useChange: () =>
      useRuleMutation(changed, ({ id, change }: { id: string; change: RuleChange }) =>
        fetchJson<Changed>(address(id), { method: "PATCH", body: change }),
      ),
    useDelete: () =>
      useRuleMutation(changed, ({ id, reason }: { id: string; reason: string }) =>
        fetchJson<unknown>(address(id), { method: "DELETE", body: { reason } }),
      ),
  };
}
