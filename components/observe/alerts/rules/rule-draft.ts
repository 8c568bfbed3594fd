import type { Asked } from "@/components/ui/draft-dialog";
import { type AlertKind, type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type Setting, type Settings, TIMES } from "@/lib/observe/alerts/kinds/settings.pure";
import type { AlertRuleOut, AlertRuleRequest } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { Severity } from "@/lib/states/severity.pure";

/** A setting as its control shows it: times in the unit of their label, lists with commas. */
export type Typed = string | boolean | readonly string[];

export type RuleDraft = {
  name: string;
  severity: Severity;
  enabled: boolean;
  kind: AlertKind;
  /** What was typed, also for another kind that was chosen before; absent = the initial value of the setting. */
  settings: Partial<Record<string, Typed>>;
  runbookUrl: string;
};

export const NEW_RULE: RuleDraft = {
  ...{ name: "", severity: "warning", enabled: true, kind: "inflow", settings: {}, runbookUrl: "" },
};

const settingsOf = (kind: AlertKind): Settings => ({ ...alertKindOf(kind).settings, ...TIMES });

export function typedIn({ settings }: Pick<RuleDraft, "settings">, name: string, setting: Setting): Typed {
  return settings[name] ?? typedOf(setting, initialOf(setting));
}

function initialOf(setting: Setting): unknown {
  if (setting.input === "choices") return setting.choices;
  return setting.input === "names" ? undefined : setting.initial;
}

function typedOf(setting: Setting, value: unknown): Typed {
  switch (setting.input) {
    case "tick":
    case "choices":
      return value as boolean | readonly string[];
    case "names":
      return (value as readonly string[] | undefined)?.join(", ") ?? "";
    case "window":
      return String(value);
    default:
      return value === null ? "" : String(Math.round(((value as number) / setting.unit) * 1_000) / 1_000);
  }
}

type Read = { value: unknown } | { error: string };

function read(name: string, setting: Setting, typed: Typed): Read {
  if (typeof typed === "boolean") return { value: typed };
  if (typeof typed !== "string") return typed.length === 0 ? { error: "choose at least one" } : { value: typed };
  const text = typed.trim();
  if (setting.input === "names") return { value: text === "" ? undefined : list(text) };
  if (text === "" && name === ("repeatMs" satisfies keyof typeof TIMES)) return { value: null };
  if (text === "" || !Number.isFinite(Number(text))) return { error: "must be a number" };
  const value = Number(text) * ("unit" in setting ? setting.unit : 1);
  const isWhole = setting.input === "count" || setting.input === "duration";
  return { value: isWhole ? Math.round(value) : Number(value.toFixed(6)) };
}

const list = (text: string) =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** The request that a draft makes, or what cannot be one, by field. Its bounds are the server's, and the trial says them. */
export function ruleRequest(draft: RuleDraft): Asked<AlertRuleRequest> {
  const { name, severity, enabled, kind } = draft;
  const errors: Record<string, string> = {};
  const watch: Record<string, unknown> = { kind };
  if (name.trim() === "") errors.name = "must not be empty";
  for (const [field, setting] of Object.entries(settingsOf(kind))) {
    const made = read(field, setting, typedIn(draft, field, setting));
    if ("error" in made) errors[field] = made.error;
    else watch[field] = made.value;
  }
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const runbookUrl = draft.runbookUrl.trim();
  if (runbookUrl !== "") watch.runbookUrl = runbookUrl;
  // The settings of its kind: what they may be the server says.
  return { ok: true, request: { name: name.trim(), severity, enabled, watch: watch as AlertWatch } };
}

export function draftOf({ name, severity, enabled, watch }: AlertRuleOut): RuleDraft {
  const { kind, runbookUrl = "" } = watch;
  const stored = watch as Record<string, unknown>;
  const typed = Object.entries(settingsOf(kind)).map(([field, setting]) => [field, typedOf(setting, stored[field])]);
  return { name, severity, enabled, kind, runbookUrl, settings: Object.fromEntries(typed) };
}
