import type { Change, Noun } from "@/lib/platform/browser/keys.browser";
import { resourceOf, useRead } from "@/lib/platform/browser/resource.browser";

export const RULES_POLL_MS = 5_000;

/** The list of one kind of rules, and its changes; called once by each module of hooks. `api`: the address of the list. */
export function ruleHooks<List, Request extends object, Patch, Changed>(api: string, noun: Noun, changed: Change) {
  return {
    ...resourceOf<Changed, Request, Patch>(api, changed),
    useRules: () => useRead<List>(noun, api, { refetchInterval: RULES_POLL_MS }),
  };
}
