import * as z from "zod/mini";
import { reasonSchema } from "@/lib/events/selection/selection.shapes";
import { ALERT_KINDS, SEVERITIES, SOURCE_FAULTS, WINDOWS_MS } from "@/lib/observe/alerts/rules/alert-rule.pure";
import {
  boundedText,
  countOut,
  EDITED_EXAMPLE,
  editedOut,
  idOut,
  named,
  nullableNumber,
  nullableText,
  pageOut,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";
import { deletion, ruleName, yesOrNo } from "@/lib/rules/rule.shapes";

const DAY_MS = 86_400_000;
const NAMES_MAX = 100;

const whole = (min: number, max: number, unit = "") => {
  const rule = `must be a whole number${unit} from ${min} to ${max}`;
  return z.int(rule).check(z.gte(min, rule), z.lte(max, rule));
};
const ms = (min: number, max: number) => whole(min, max, " of milliseconds");
const share = z
  .number("must be a share above 0 and below 1")
  .check(z.gt(0, "must be above 0"), z.lt(1, "must be below 1: 0.8 is 80 %"));

const names = (max: number) => {
  const one = z
    .array(boundedText(max))
    .check(z.minLength(1, "name at least one, or leave it out"), z.maxLength(NAMES_MAX));
  return z.optional(one);
};
const sources = names(TEXT_MAX.sourceName);
const errorCodes = names(TEXT_MAX.errorCode);

const windowText = `must be one of ${WINDOWS_MS.join(", ")} (${WINDOWS_MS.map(formatDuration).join(", ")})`;
const windowMs = z
  .int(windowText)
  .check(z.refine((value) => WINDOWS_MS.includes(value), windowText))
  .register(z.globalRegistry, { enum: WINDOWS_MS });

const REPEAT_MS = { min: 300_000, max: 7 * DAY_MS };
const WAIT_MS_MAX = 7 * DAY_MS;
const COUNT_MAX = 1_000_000_000;

const times = {
  forMs: z._default(ms(0, WAIT_MS_MAX), 0),
  clearMs: z._default(ms(0, WAIT_MS_MAX), 300_000),
  repeatMs: z._default(z.nullable(ms(REPEAT_MS.min, REPEAT_MS.max)), 14_400_000),
  /** Where to read what to do; absent = the runbook of this kind. */
  runbookUrl: z.optional(
    z
      .url({ protocol: /^https?$/, error: "must be an address that begins with https:// or http://" })
      .check(z.maxLength(2_000, "must have at most 2,000 characters")),
  ),
};
const scope = { sources };
const coded = { sources, errorCodes };
const counted = { ...coded, perSource: z._default(yesOrNo, true) };
const kind = <Kind extends (typeof ALERT_KINDS)[number]>(name: Kind) => z.literal(name);
const quietMs = ms(3_600_000, 365 * DAY_MS);

/** What a rule watches: the fields of its kind, and the times of every rule. */
const alertWatchSchema = z.discriminatedUnion(
  "kind",
  [
    z.strictObject({ kind: kind("size"), above: whole(0, COUNT_MAX), ...counted, ...times }),
    z.strictObject({
      kind: kind("inflow"),
      windowMs,
      factor: z.number("must be a number").check(z.gte(1, "must be at least 1"), z.lte(1_000, "must be at most 1,000")),
      atLeast: whole(1, COUNT_MAX),
      ...counted,
      ...times,
    }),
    z.strictObject({ kind: kind("silence"), windowMs, usualAtLeast: whole(1, COUNT_MAX), ...counted, ...times }),
    z.strictObject({ kind: kind("age"), aboveMs: ms(60_000, 365 * DAY_MS), ...counted, ...times }),
    z.strictObject({ kind: kind("new-group"), atLeast: whole(1, COUNT_MAX), quietMs, ...coded, ...times }),
    z.strictObject({ kind: kind("group-back"), atLeast: whole(1, COUNT_MAX), quietMs, ...coded, ...times }),
    z.strictObject({
      kind: kind("success"),
      windowMs,
      below: share,
      atLeast: whole(1, COUNT_MAX),
      ...counted,
      ...times,
    }),
    z.strictObject({ kind: kind("breaker"), ...scope, ...times }),
    z.strictObject({ kind: kind("healing"), ...scope, ...times }),
    z.strictObject({
      kind: kind("source"),
      states: z
        .array(z.enum(SOURCE_FAULTS, `must be one of ${SOURCE_FAULTS.join(", ")}`))
        .check(z.minLength(1, "name at least one"), z.maxLength(SOURCE_FAULTS.length)),
      ...scope,
      ...times,
    }),
    z.strictObject({ kind: kind("contract"), ...scope, ...times }),
    z.strictObject({ kind: kind("storage"), belowShare: share, ...times }),
    z.strictObject({ kind: kind("audit"), ...times }),
    z.strictObject({ kind: kind("redrive-still"), ...scope, ...times }),
  ],
  { error: `kind must be one of ${ALERT_KINDS.join(", ")}` },
);
export type AlertWatch = z.infer<typeof alertWatchSchema>;

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
  { name: "Orders rise", severity: "warning", watch: WATCH, reason: "we learned of the last storm by chance" },
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
  {
    id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30",
    name: "Orders rise",
    severity: "warning",
    enabled: true,
    version: 1,
    watch: WATCH,
    fault: null,
    firing: 0,
    ...EDITED_EXAMPLE,
  },
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
  {
    from: "2026-11-15T02:00:00.000Z",
    to: "2026-11-22T02:00:00.000Z",
    stepMs: 900_000,
    noPast: null,
    fired: [
      {
        key: "orders",
        from: "2026-11-20T22:45:00.000Z",
        to: "2026-11-20T23:30:00.000Z",
        peak: 1_240,
        sentence: "orders: 1,240 events arrived in 15 min, 41 × the usual 30",
      },
    ],
    moreFired: 0,
    series: { key: "orders", points: [{ at: "2026-11-20T22:45:00.000Z", value: 1_240, threshold: 90 }] },
    now: [],
    fault: null,
  },
);
export type AlertTrialOut = z.infer<typeof alertTrialSchema>;
