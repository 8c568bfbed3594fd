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

const TIMES = ["forMinutes", "clearMinutes", "repeatMinutes"] as const;

/** The name of each number in a rule, and the unit of the form in that of the rule. */
const NUMBERS: Partial<Record<RuleField, [name: string, unit: number]>> = {
  ...{ above: ["above", 1], windowMs: ["windowMs", 1], factor: ["factor", 1], atLeast: ["atLeast", 1] },
  ...{ usualAtLeast: ["usualAtLeast", 1], aboveHours: ["aboveMs", HOUR_MS], quietHours: ["quietMs", HOUR_MS] },
  ...{ forMinutes: ["forMs", MINUTE_MS], clearMinutes: ["clearMs", MINUTE_MS], repeatMinutes: ["repeatMs", MINUTE_MS] },
};

/** The request that a draft makes, or what cannot be one, by field. Its bounds are the server's, and the trial says them. */
export function ruleRequest(draft: RuleDraft): Asked<AlertRuleRequest> {
  const errors: DraftErrors = {};
  if (draft.name.trim() === "") errors.name = "must not be empty";
  for (const field of [...FIELDS_OF[draft.kind], ...TIMES]) {
    const isNumber = field in NUMBERS || field === "belowPercent";
    const text = String(draft[field]).trim();
    const isTyped = text === "" ? field === "repeatMinutes" : Number.isFinite(Number(text));
    if (isNumber && !isTyped) errors[field] = "must be a number";
  }
  if (draft.kind === "source" && draft.states.length === 0) errors.states = "choose at least one";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const { severity, enabled } = draft;
  return { ok: true, request: { name: draft.name.trim(), severity, enabled, watch: watchOf(draft) } };
}

const list = (text: string): string[] | undefined => {
  const names = text.split(",").map((name) => name.trim());
  return text.trim() === "" ? undefined : names.filter((name) => name !== "");
};

/** A field as the rule has it. */
function part(draft: RuleDraft, field: RuleField): object {
  if (field === "sources" || field === "errorCodes") return { [field]: list(draft[field]) };
  if (field === "belowPercent") {
    const share = Number(draft.belowPercent) / 100;
    return draft.kind === "storage" ? { belowShare: share } : { below: share };
  }
  const [name, unit] = NUMBERS[field] ?? [];
  if (name === undefined || unit === undefined) return { [field]: draft[field] };
  const text = String(draft[field]).trim();
  if (text === "") return { [name]: null };
  return { [name]: field === "factor" ? Number(text) : Math.round(Number(text) * unit) };
}

function watchOf(draft: RuleDraft): AlertWatch {
  const runbookUrl = draft.runbookUrl.trim();
  // The fields of its kind: what they may be the server says.
  return Object.assign(
    { kind: draft.kind },
    ...[...FIELDS_OF[draft.kind], ...TIMES].map((field) => part(draft, field)),
    runbookUrl === "" ? {} : { runbookUrl },
  );
}

export function draftOf({ name, severity, enabled, watch }: AlertRuleOut): RuleDraft {
  const stored = watch as Partial<Record<string, unknown>>;
  const shown = (value: number) => String(Math.round(value * 1_000) / 1_000);
  const numbers = Object.entries(NUMBERS).flatMap(([field, [at, unit]]) => {
    const value = stored[at] as number | null | undefined;
    return value === undefined ? [] : [[field, value === null ? "" : shown(value / unit)]];
  });
  const share = (stored.below ?? stored.belowShare) as number | undefined;
  return {
    ...NEW_RULE,
    ...{ name, severity, enabled, kind: watch.kind },
    ...Object.fromEntries(numbers),
    sources: (stored.sources as string[] | undefined)?.join(", ") ?? "",
    errorCodes: (stored.errorCodes as string[] | undefined)?.join(", ") ?? "",
    perSource: (stored.perSource as boolean | undefined) ?? NEW_RULE.perSource,
    belowPercent: share === undefined ? NEW_RULE.belowPercent : String(Math.round(share * 10_000) / 100),
    states: (stored.states as SourceFault[] | undefined) ?? NEW_RULE.states,
    runbookUrl: watch.runbookUrl ?? "",
  };
}
