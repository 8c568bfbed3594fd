import type { Asked } from "@/components/ui/draft-dialog";
import type { ControlRequest, ControlScopeName } from "@/lib/order/controls/controls.shapes";
import { scopeOf } from "./scope-words";

export type ControlDraft = {
  kind: ControlRequest["kind"];
  scopeName: ControlScopeName;
  scopeValue: string;
  /** The control holds in this source only; empty = in all sources. Not read when the scope is a source. */
  source: string;
  /** The only aggregate type of the control; empty = all types. Read only for the scope aggregate. */
  aggregateType: string;
  /** `never`, minutes from now as text, or `at` with a local date-time. */
  until: string;
  untilAt: string;
};

/** The offered ends of a control, in minutes. */
export const UNTIL_MINUTES = [15, 60, 240, 1_440, 4_320] as const;

/** The draft that proposes a scope; without one an empty aggregate. */
export function startingDraft(kind: ControlRequest["kind"], scope: ControlRequest["scope"] | undefined): ControlDraft {
  const { name, value } = scopeOf(scope ?? {}) ?? { name: "aggregateId", value: "" };
  return {
    kind,
    scopeName: name,
    scopeValue: value,
    source: name === "source" ? "" : (scope?.source ?? ""),
    aggregateType: (scope && "aggregateType" in scope && scope.aggregateType) || "",
    untilAt: "",
    until: kind === "cooldown" ? "60" : "never",
  };
}

/** The request of the dialog, or the missing parts by field. The server checks again. */
export function controlRequest(draft: ControlDraft, reason: string, nowMs: number): Asked<ControlRequest> {
  const errors: Partial<Record<"scopeValue" | "until", string>> = {};
  const scopeValue = draft.scopeValue.trim();
  if (scopeValue === "") errors.scopeValue = "Choose what it applies to.";
  const expiresAtMs = expiry(draft, nowMs);
  if (expiresAtMs === null && draft.kind === "cooldown") errors.until = "A cooldown needs an end.";
  if (Number.isNaN(expiresAtMs)) errors.until = "Choose a date and time.";
  else if (expiresAtMs !== null && expiresAtMs <= nowMs) errors.until = "The end must be in the future.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return {
    ok: true,
    request: {
      kind: draft.kind,
      scope: draftScope(draft),
      reason,
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    },
  };
}

/** The scope in the form of the API. */
export function draftScope(
  draft: Pick<ControlDraft, "scopeName" | "scopeValue" | "source" | "aggregateType">,
): ControlRequest["scope"] {
  const { scopeName, scopeValue, source, aggregateType } = draft;
  const narrowed: Record<string, string> = { [scopeName]: scopeValue.trim() };
  if (scopeName !== "source" && source.trim() !== "") narrowed.source = source.trim();
  if (scopeName === "aggregateId" && aggregateType.trim() !== "") narrowed.aggregateType = aggregateType.trim();
  return narrowed as ControlRequest["scope"];
}

/** Epoch ms; null = no end; NaN = not a time. */
function expiry(draft: ControlDraft, nowMs: number): number | null {
  if (draft.until === "never") return null;
  if (draft.until === "at") return Date.parse(draft.untilAt);
  return nowMs + Number(draft.until) * 60_000;
}
