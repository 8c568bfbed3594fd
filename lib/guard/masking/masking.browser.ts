import { keepInTab, keptInTab } from "@/lib/guard/sign-in/kept-in-tab.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { resourceOf, useRead } from "@/lib/platform/browser/resource.browser";
import type { RevealedEvent } from "@/lib/repair/revisions/reveal.shapes";
import type {
  MaskRuleChange,
  MaskRuleList,
  MaskRuleOut,
  MaskRuleRequest,
  MaskTrial,
  MaskTrialRequest,
  RevealRequest,
} from "./mask-rules.shapes";

const PATH = "/api/v1/mask-rules";

export const useMaskRules = () => useRead<MaskRuleList>("mask-rules", PATH);

export const maskRules = resourceOf<MaskRuleOut, MaskRuleRequest, MaskRuleChange>(PATH, "masks");

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
