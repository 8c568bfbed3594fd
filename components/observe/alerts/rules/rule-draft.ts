import type { Asked } from "@/components/ui/draft-dialog";
import type { AlertKind, Severity, SourceFault } from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { AlertRuleOut, AlertRuleRequest, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";

/** A rule as it is typed: texts, times in the units of their labels. */
export type RuleDraft = {
  name: string;
  severity: Severity;
  enabled: boolean;
  kind: AlertKind;
  sources: string;
  errorCodes: string;
  perSource: boolean;
  above: string;
  windowMs: string;
  factor: string;
  atLeast: string;
  usualAtLeast: string;
  aboveHours: string;
  quietHours: string;
  belowPercent: string;
  states: readonly SourceFault[];
  forMinutes: string;
  clearMinutes: string;
  repeatMinutes: string;
  runbookUrl: string;
};

export type RuleField = keyof RuleDraft;
type DraftErrors = Partial<Record<RuleField, string>>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const NEW_RULE: RuleDraft = {
  ...{ name: "", severity: "warning", enabled: true, kind: "inflow", sources: "", errorCodes: "", perSource: true },
  ...{ above: "1000", windowMs: String(15 * MINUTE_MS), factor: "3", atLeast: "50", usualAtLeast: "20" },
  ...{ aboveHours: "24", quietHours: "24", belowPercent: "80", states: ["failing", "unreachable", "unread"] },
  ...{ forMinutes: "0", clearMinutes: "5", repeatMinutes: "240", runbookUrl: "" },
};

/** The fields of each kind, beside its times, in the order of the form. */
export const FIELDS_OF: Record<AlertKind, readonly RuleField[]> = {
  size: ["above", "perSource", "sources", "errorCodes"],
  inflow: ["windowMs", "factor", "atLeast", "perSource", "sources", "errorCodes"],
  silence: ["windowMs", "usualAtLeast", "perSource", "sources", "errorCodes"],
  age: ["aboveHours", "perSource", "sources", "errorCodes"],
  "new-group": ["atLeast", "quietHours", "sources", "errorCodes"],
  "group-back": ["quietHours", "atLeast", "sources", "errorCodes"],
  success: ["windowMs", "belowPercent", "atLeast", "perSource", "sources", "errorCodes"],
  breaker: ["sources"],
  healing: ["sources"],
  source: ["states", "sources"],
  contract: ["sources"],
  storage: ["belowPercent"],
  audit: [],
  "redrive-still": ["sources"],
};

const TIMES: readonly RuleField[] = ["forMinutes", "clearMinutes", "repeatMinutes"];
const NUMBERS: readonly RuleField[] = [
  ...(["above", "factor", "atLeast", "usualAtLeast", "aboveHours", "quietHours", "belowPercent"] as const),
  ...TIMES,
];

/** The request that a draft makes, or what cannot be one, by field. Its bounds are the server's, and the trial says them. */
export function ruleRequest(draft: RuleDraft): Asked<AlertRuleRequest> {
  const errors: DraftErrors = {};
  if (draft.name.trim() === "") errors.name = "must not be empty";
  for (const field of [...FIELDS_OF[draft.kind], ...TIMES]) {
    if (NUMBERS.includes(field) && !isNumber(draft[field] as string, field)) errors[field] = "must be a number";
  }
  if (draft.kind === "source" && draft.states.length === 0) errors.states = "choose at least one";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const { severity, enabled } = draft;
  return { ok: true, request: { name: draft.name.trim(), severity, enabled, watch: watchOf(draft) } };
}

function isNumber(text: string, field: RuleField): boolean {
  return text.trim() === "" ? field === "repeatMinutes" : Number.isFinite(Number(text));
}

const whole = (text: string, unitMs = 1): number =>
  text.trim() === "" ? Number.NaN : Math.round(Number(text) * unitMs);
const list = (text: string): string[] | undefined => {
  const names = text.split(",").map((name) => name.trim());
  return text.trim() === "" ? undefined : names.filter((name) => name !== "");
};

function watchOf(draft: RuleDraft): AlertWatch {
  const values: Partial<Record<RuleField, object>> = {
    above: { above: whole(draft.above) },
    windowMs: { windowMs: Number(draft.windowMs) },
    factor: { factor: draft.factor.trim() === "" ? Number.NaN : Number(draft.factor) },
    atLeast: { atLeast: whole(draft.atLeast) },
    usualAtLeast: { usualAtLeast: whole(draft.usualAtLeast) },
    aboveHours: { aboveMs: whole(draft.aboveHours, HOUR_MS) },
    quietHours: { quietMs: whole(draft.quietHours, HOUR_MS) },
    belowPercent: {
      [draft.kind === "storage" ? "belowShare" : "below"]: Number(draft.belowPercent.trim() || "NaN") / 100,
    },
    states: { states: draft.states },
    perSource: { perSource: draft.perSource },
    sources: { sources: list(draft.sources) },
    errorCodes: { errorCodes: list(draft.errorCodes) },
  };
  // The fields of its kind: what they may be the server says.
  return Object.assign(
    { kind: draft.kind },
    ...FIELDS_OF[draft.kind].map((field) => values[field]),
    {
      forMs: whole(draft.forMinutes, MINUTE_MS),
      clearMs: whole(draft.clearMinutes, MINUTE_MS),
      repeatMs: draft.repeatMinutes.trim() === "" ? null : whole(draft.repeatMinutes, MINUTE_MS),
    },
    draft.runbookUrl.trim() === "" ? {} : { runbookUrl: draft.runbookUrl.trim() },
  );
}

export function draftOf({ name, severity, enabled, watch }: AlertRuleOut): RuleDraft {
  const has = <Value>(field: string): Value | undefined =>
    (watch as Record<string, unknown>)[field] as Value | undefined;
  const number = (field: string, fallback: string, unit = 1) => {
    const value = has<number>(field);
    return value === undefined ? fallback : String(Math.round((value / unit) * 1_000) / 1_000);
  };
  const share = has<number>("below") ?? has<number>("belowShare");
  return {
    ...{ name, severity, enabled, kind: watch.kind },
    sources: has<string[]>("sources")?.join(", ") ?? "",
    errorCodes: has<string[]>("errorCodes")?.join(", ") ?? "",
    perSource: has<boolean>("perSource") ?? NEW_RULE.perSource,
    above: number("above", NEW_RULE.above),
    windowMs: number("windowMs", NEW_RULE.windowMs),
    factor: number("factor", NEW_RULE.factor),
    atLeast: number("atLeast", NEW_RULE.atLeast),
    usualAtLeast: number("usualAtLeast", NEW_RULE.usualAtLeast),
    aboveHours: number("aboveMs", NEW_RULE.aboveHours, HOUR_MS),
    quietHours: number("quietMs", NEW_RULE.quietHours, HOUR_MS),
    belowPercent: share === undefined ? NEW_RULE.belowPercent : String(Math.round(share * 10_000) / 100),
    states: has<SourceFault[]>("states") ?? NEW_RULE.states,
    forMinutes: number("forMs", "0", MINUTE_MS),
    clearMinutes: number("clearMs", "0", MINUTE_MS),
    repeatMinutes: watch.repeatMs === null ? "" : number("repeatMs", "", MINUTE_MS),
    runbookUrl: watch.runbookUrl ?? "",
  };
}
