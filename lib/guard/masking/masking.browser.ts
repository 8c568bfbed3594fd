import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keepInTab, keptInTab } from "@/lib/guard/sign-in/kept-in-tab.browser";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type {
  MaskRuleChange,
  MaskRuleList,
  MaskRuleOut,
  MaskRuleRequest,
  MaskTrial,
  MaskTrialRequest,
  RevealRequest,
} from "./mask-rules.shapes";
import type { RevealedEvent } from "./reveal.shapes";

const PATH = "/api/v1/mask-rules";

export const useMaskRules = () => useRead<MaskRuleList>("mask-rules", PATH);

export type MaskRuleEdit =
  | { add: MaskRuleRequest }
  | { change: MaskRuleChange & { id: string } }
  | { remove: { id: string } };

/** Adds, changes or removes one rule. What is on the screen was masked by the rules before. */
export function useEditMaskRule() {
  const client = useQueryClient();
  return useMutation<MaskRuleOut | null, ApiError, MaskRuleEdit>({
    mutationFn: (edit) => {
      if ("add" in edit) return fetchJson<MaskRuleOut>(PATH, { method: "POST", body: edit.add, once: true });
      if ("remove" in edit) return fetchJson<null>(`${PATH}/${edit.remove.id}`, { method: "DELETE" });
      const { id, ...body } = edit.change;
      return fetchJson<MaskRuleOut>(`${PATH}/${id}`, { method: "PATCH", body });
    },
    onSuccess: () =>
      Promise.all(
        ["mask-rules", "events", "revision", "groups", "audit"].map((noun) =>
          client.invalidateQueries({ queryKey: [noun] }),
        ),
      ),
  });
}

export function tryMasking(body: MaskTrialRequest): Promise<MaskTrial> {
  return fetchJson<MaskTrial>(`${PATH}/trial`, { method: "POST", body, reads: true });
}

/** An event with nothing masked. The answer is kept by the part that asked, in no cache. */
export function revealEvent(id: string, body: RevealRequest): Promise<RevealedEvent> {
  return fetchJson<RevealedEvent>(`/api/v1/events/${encodeURIComponent(id)}/reveal`, { method: "POST", body });
}

const REMEMBERED_MS = 15 * 60_000;

/** The reason that was given last in this tab, for a quarter of an hour; null = none. The audit keeps it with each reveal. */
export function rememberedReason(): string | null {
  try {
    const { reason, untilMs } = JSON.parse(keptInTab("reason", "") ?? "{}") as Record<string, unknown>;
    return typeof reason === "string" && typeof untilMs === "number" && untilMs > Date.now() ? reason : null;
  } catch {
    // Storage is off, or holds something else: the reason is asked for again.
    return null;
  }
}

export function rememberReason(reason: string): void {
  try {
    keepInTab("reason", "", JSON.stringify({ reason, untilMs: Date.now() + REMEMBERED_MS }));
  } catch {
    // The reason is asked for again.
  }
}
