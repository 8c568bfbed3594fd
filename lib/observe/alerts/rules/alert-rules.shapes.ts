import * as z from "zod/mini";
import { ALERT_KINDS, type AlertKind, type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type Setting, TIMES, WINDOWS_MS } from "@/lib/observe/alerts/kinds/settings.pure";
import {
  boundedText,
  countOut,
  deletion,
  editedOut,
  idOut,
  named,
  nullableNumber,
  nullableText,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { formatDuration, formatNumber } from "@/lib/platform/plain/format.pure";
import { ruleName, yesOrNo } from "@/lib/rules/rule.shapes";
import { SEVERITIES } from "@/lib/states/severity.pure";

const NAMES_MAX = 100;
const COUNT_MAX = 1_000_000_000;

const whole = (min: number, max: number, unit = "") => {
  const rule = `must be a whole number${unit} from ${min} to ${max}`;
  return z.int(rule).check(z.gte(min, rule), z.lte(max, rule));
};
const share = z
  .number("must be a share above 0 and below 1")
  .check(z.gt(0, "must be above 0"), z.lt(1, "must be below 1: 0.8 is 80%"));

const windowText = `must be one of ${WINDOWS_MS.join(", ")} (${WINDOWS_MS.map(formatDuration).join(", ")})`;

function settingSchema(setting: Setting) {
  switch (setting.input) {
    case "count":
      return whole(setting.min, COUNT_MAX);
    case "duration":
      return whole(setting.min, setting.max, " of milliseconds");
    case "factor": {
      const { min, max } = setting;
      const bounds = [`must be at least ${formatNumber(min)}`, `must be at most ${formatNumber(max)}`] as const;
      return z.number("must be a number").check(z.gte(min, bounds[0]), z.lte(max, bounds[1]));
    }
    case "share":
      return share;
    case "window":
      return z
        .int(windowText)
        .check(z.refine((value) => WINDOWS_MS.includes(value), windowText))
        .register(z.globalRegistry, { enum: WINDOWS_MS });
    case "names": {
      const names = z.array(boundedText(setting.charactersMax));
      return z.optional(names.check(z.minLength(1, "name at least one, or leave it out"), z.maxLength(NAMES_MAX)));
    }
    case "tick":
      return z._default(yesOrNo, setting.initial);
    case "choices": {
      const { choices } = setting;
      return z
        .array(z.enum(choices, `must be one of ${choices.join(", ")}`))
        .check(z.minLength(1, "name at least one"), z.maxLength(choices.length));
    }
  }
}

const times = {
  forMs: z._default(settingSchema(TIMES.forMs), TIMES.forMs.initial),
  clearMs: z._default(settingSchema(TIMES.clearMs), TIMES.clearMs.initial),
  repeatMs: z._default(z.nullable(settingSchema(TIMES.repeatMs)), TIMES.repeatMs.initial),
  /** Where to read what to do; absent = the runbook of this kind. */
  runbookUrl: z.optional(
    z
      .url({ protocol: /^https?$/, error: "must be an address that begins with https:// or http://" })
      .check(z.maxLength(2_000, "must have at most 2,000 characters")),
  ),
};

function kindSchema(kind: AlertKind) {
  const own = Object.entries(alertKindOf(kind).settings).map(
    ([name, setting]) => [name, settingSchema(setting)] as const,
  );
  return z.strictObject({ kind: z.literal(kind), ...Object.fromEntries(own), ...times });
}

const [firstKind, ...otherKinds] = ALERT_KINDS;

/** What a rule watches: the settings of its kind, and the times of every rule. Its type is that of the settings. */
const alertWatchSchema = z.discriminatedUnion("kind", [kindSchema(firstKind!), ...otherKinds.map(kindSchema)], {
  error: `kind must be one of ${ALERT_KINDS.join(", ")}`,
}) as unknown as z.ZodMiniType<AlertWatch>;

const severity = z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(", ")}`);

const WATCH = {
  kind: "inflow",
  windowMs: 900_000,
  factor: 3,
  atLeast: 50,
  perSource: true,
  forMs: 0,
  clearMs: 300_000,
  repeatMs: 14_400_000,
} as const;

export const alertRuleRequestSchema = named(
  "AlertRuleRequest",
  z.strictObject({
    name: ruleName,
    severity: z._default(severity, "warning"),
    enabled: z._default(yesOrNo, true),
    watch: alertWatchSchema,
    reason: z.optional(reasonSchema),
  }),
  { name: "Orders rise", severity: "warning", watch: WATCH, reason: "we noticed the last storm by chance" },
);
export type AlertRuleRequest = z.infer<typeof alertRuleRequestSchema>;

export const alertRuleChangeSchema = named(
  "AlertRuleChange",
  z.strictObject({
    name: z.optional(ruleName),
    severity: z.optional(severity),
    enabled: z.optional(yesOrNo),
    /** The whole condition: its fields are not merged with those that are stored. */
    watch: z.optional(alertWatchSchema),
    /** The version that was read: the change is refused when the rule has another one meanwhile. */
    version: z.optional(z.int("must be a whole number")),
    reason: z.optional(reasonSchema),
  }),
  { enabled: false, reason: "the nightly import trips it" },
);
export type AlertRuleChange = z.infer<typeof alertRuleChangeSchema>;

export const alertRuleDeletionSchema = deletion("AlertRuleDeletion", "another rule covers it");

export const alertRuleSchema = named(
  "AlertRule",
  z.object({
    id: idOut,
    name: z.string(),
    severity: z.enum(SEVERITIES),
    enabled: z.boolean(),
    version: countOut,
    watch: alertWatchSchema,
    /** Why the last evaluation could not judge it; null = it could, or the rule is off. */
    fault: nullableText,
    /** Alerts of it that fire now. */
    firing: countOut,
    ...editedOut,
  }),
);
export type AlertRuleOut = z.infer<typeof alertRuleSchema>;
export const alertRuleListSchema = pageOut(alertRuleSchema);
export type AlertRuleList = z.infer<typeof alertRuleListSchema>;

export const alertTrialRequestSchema = named("AlertTrialRequest", z.strictObject({ watch: alertWatchSchema }), {
  watch: WATCH,
});

export const alertTrialSchema = named(
  "AlertTrial",
  z.object({
    from: timeOut,
    to: timeOut,
    stepMs: countOut,
    /** Why the past cannot be tried: nothing is kept of what this kind watches. null = it was tried. */
    noPast: nullableText,
    /** When it would have fired; `to` null = it would still fire. Times are exact to a step. */
    fired: z.array(
      z.object({ key: z.string(), from: timeOut, to: z.nullable(timeOut), peak: nullableNumber, sentence: z.string() }),
    ),
    /** Beyond the listed ones. */
    moreFired: countOut,
    /** What is watched, by step: of the whole scope, or of the source that would have fired most. */
    series: z.object({
      key: nullableText,
      points: z.array(z.object({ at: timeOut, value: nullableNumber, threshold: nullableNumber })),
    }),
    /** What holds now. */
    now: z.array(z.object({ key: z.string(), sentence: z.string() })),
    /** Why it cannot be judged now; null = it can. */
    fault: nullableText,
  }),
);
export type AlertTrialOut = z.infer<typeof alertTrialSchema>;
