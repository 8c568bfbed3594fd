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
export function ruleHooks<List, Request extends object, Switch, Changed>(
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
    /** Stores a new rule; with `rule` it changes that one, unless it has another version by then. */
    useSave: (rule: { id: string; version: number } | null) =>
      useRuleMutation(changed, (body: Request) =>
        rule === null
          ? fetchJson<Changed>(api, { method: "POST", body, once: true })
          : fetchJson<Changed>(address(rule.id), { method: "PATCH", body: { ...body, version: rule.version } }),
      ),
    useSwitch: (id: string) =>
      useRuleMutation(changed, (body: Switch) => fetchJson<Changed>(address(id), { method: "PATCH", body })),
    useMove: (id: string) =>
      useRuleMutation(changed, (body: { position: number; reason: string }) =>
        fetchJson<Changed>(address(id), { method: "PATCH", body }),
      ),
    useDelete: (id: string) =>
      useRuleMutation(changed, (reason: string) =>
        fetchJson<unknown>(address(id), { method: "DELETE", body: { reason } }),
      ),
  };
}
