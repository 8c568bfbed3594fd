import * as z from "zod/mini";
import {
  countOut,
  deletion,
  described,
  idOut,
  named,
  nullableText,
  nullableTime,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { brakeSchema, canarySchema, laneSchema, rateSchema } from "@/lib/redrive/request/redrive-request.shapes";
import type { RuleField } from "@/lib/rules/redrive-rule.pure";
import { readStoredRule, ruleChangeShape, ruleName, ruleOutShape, triedId, yesOrNo } from "@/lib/rules/rule.shapes";
import { type EventFilter, eventFilterSchema } from "@/lib/selection/filter/event-filter.shapes";
import { NOT_PREFIX } from "@/lib/selection/filter/filter-params.shapes";

export const REDRIVE_RULES_MAX = 20;
/** One run is frozen in one transaction. */
const RUN_EVENTS_MAX = 2_000;
const DAY_MS = 86_400_000;

const whole = (min: number, max: number, least = `must be at least ${min.toLocaleString("en")}`) =>
  z.int("must be a whole number").check(z.gte(min, least), z.lte(max, `must be at most ${max.toLocaleString("en")}`));

/** Names of the filter that say which events; the others only say when, in which state, or which not. */
const NOT_NAMING = ["from", "to", "status"];

const ruleFilter = eventFilterSchema.check(
  z.refine(
    (filter) => Object.keys(filter).some((name) => !NOT_NAMING.includes(name) && !name.startsWith(NOT_PREFIX)),
    "matches every event: name a source, an error code, an event type, a group or a tag",
  ),
  ...(["status", "not.status"] as const).map((name) =>
    z.refine<EventFilter>((filter) => filter[name] === undefined, {
      path: [name],
      error: "leave it out: a rule redrives only parked events (PENDING)",
    }),
  ),
);

z.globalRegistry.add(ruleFilter, {
  description: `Names events by something other than ${NOT_NAMING.join(", ")} or an exclusion, and has no status`,
});

const limits = z.strictObject({
  eventsPerRun: z._default(whole(1, RUN_EVENTS_MAX), 500),
  eventsPerHour: z._default(z.nullable(whole(1, 1_000_000)), 1_000),
  eventsPerDay: z._default(z.nullable(whole(1, 10_000_000)), 10_000),
});
const onlyIf = z.strictObject({
  /** An event of the same group and source was confirmed after this one failed. */
  groupSucceeded: z._default(yesOrNo, false),
  breakerClosed: z._default(yesOrNo, true),
});

/** Each field of a rule without its default: a change names some of them. */
const fields = {
  filter: ruleFilter,
  delayMs: described(whole(0, 30 * DAY_MS), "From when the event was parked or last bounced"),
  redrivesPerEvent: described(whole(1, 10), "How often one event is redriven by rules"),
  lane: laneSchema,
  ratePerSecond: z.nullable(rateSchema),
  canary: z.union([z.boolean(), z.literal("auto"), canarySchema]),
  brake: brakeSchema,
  onlyIf,
  everyMs: described(whole(1_000, DAY_MS), "From one run of the rule to the next"),
  limits,
  stopAtFailureRatio: described(
    z.number("must be a number").check(z.gt(0, "must be above 0"), z.lte(1, "must be at most 1")),
    "Above this share of failed and bounced events the rule disables itself",
  ),
} satisfies Record<RuleField, unknown>;

const body = {
  filter: fields.filter,
  delayMs: fields.delayMs,
  redrivesPerEvent: z._default(fields.redrivesPerEvent, 2),
  lane: z._default(laneSchema, "slow"),
  ratePerSecond: z._default(fields.ratePerSecond, null),
  canary: z._default(fields.canary, "auto"),
  brake: z.prefault(brakeSchema, {}),
  onlyIf: z.prefault(onlyIf, {}),
  everyMs: z._default(fields.everyMs, 60_000),
  limits: z.prefault(limits, {}),
  stopAtFailureRatio: z._default(fields.stopAtFailureRatio, 0.2),
};

const NO_LIMIT = {
  path: ["delayMs"],
  error: "0 needs limits.eventsPerHour or limits.eventsPerDay: without them an event is redriven as fast as it bounces",
};
const isBounded = (rule: { delayMs: number; limits: z.infer<typeof limits> }) =>
  rule.delayMs > 0 || rule.limits.eventsPerHour !== null || rule.limits.eventsPerDay !== null;

/** What a rule holds in the store, complete. */
const ruleBodySchema = z.strictObject(body).check(z.refine(isBounded, NO_LIMIT));
export type RedriveRuleBody = z.infer<typeof ruleBodySchema>;

const BODY_EXAMPLE = {
  filter: { source: ["orders"], errorCode: ["TIMEOUT"] },
  delayMs: 1_800_000,
  redrivesPerEvent: 2,
  onlyIf: { groupSucceeded: true },
};

export const redriveRuleRequestSchema = named(
  "RedriveRuleRequest",
  z.strictObject({ name: ruleName, ...body, reason: reasonSchema }).check(z.refine(isBounded, NO_LIMIT)),
  { name: "timeouts of orders", ...BODY_EXAMPLE, reason: "they pass when the stock service is back" },
);
export type RedriveRuleRequest = z.infer<typeof redriveRuleRequestSchema>;

const trialId = z.uuid("must be the id of a trial: POST /api/v1/redrive-rules/try");

export const redriveRuleChangeSchema = named(
  "RedriveRuleChange",
  z.strictObject({
    ...ruleChangeShape,
    ...(Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, z.optional(schema)])) as {
      [Field in keyof typeof fields]: z.ZodMiniOptional<(typeof fields)[Field]>;
    }),
    /** A trial of the rule as this change leaves it: without one it is not switched on, nor changed while it is on. */
    trial: z.optional(trialId),
    position: z.optional(whole(1, REDRIVE_RULES_MAX, "the first position is 1")),
  }),
  {
    enabled: true,
    trial: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b40",
    version: 1,
    reason: "390 of 412 succeeded",
  },
);
export type RedriveRuleChange = z.infer<typeof redriveRuleChangeSchema>;

export const redriveRuleDeletionSchema = deletion("RedriveRuleDeletion", "the stock service answers in time now");

export const redriveRuleTrySchema = named(
  "RedriveRuleTry",
  z.strictObject({
    rule: ruleBodySchema,
    /** Rules above it take their events first. */
    id: triedId,
    days: z._default(whole(1, 30), 7),
  }),
  { rule: BODY_EXAMPLE, days: 7 },
);
export type RedriveRuleTry = z.infer<typeof redriveRuleTrySchema>;

const TRIED_OUTCOMES = ["stayed", "came-back", "sent", "never"] as const;
export type TriedOutcome = (typeof TRIED_OUTCOMES)[number];

const trialCounts = {
  /** Events of the window that match the rule's filter; `bounded`: the newest ones, more match. */
  checked: countOut,
  bounded: z.boolean(),
  /** Number of events the rule would have redriven. What actually happened to them: */
  taken: countOut,
  /** redriven later by anyone, or processed by their consumer, and confirmed; */
  stayed: countOut,
  /** redriven later, and failed or bounced; */
  cameBack: countOut,
  /** redriven later, and not yet confirmed; */
  sent: countOut,
  /** never redriven: what a redrive would have done is unknown. */
  never: countOut,
  /** Redriven or confirmed before they were due. */
  left: countOut,
  /** Not due yet, or their group never succeeded. */
  waits: countOut,
  /** The limits had kept them back. */
  limited: countOut,
  /** Marked by admission: a rule never sends them. */
  marked: countOut,
};

export const redriveRuleTrialSchema = named(
  "RedriveRuleTrial",
  z.object({
    id: idOut,
    /** Of the rule that was tried; a rule is switched on with a trial of its own digest. */
    digest: z.string(),
    from: timeOut,
    to: timeOut,
    ...trialCounts,
    /** Events that are parked now and match: the rule looks at them when it is switched on. */
    parkedNow: z.object({ count: countOut, bounded: z.boolean() }),
    samples: z.array(
      z.object({
        id: idOut,
        eventId: z.string(),
        source: z.string(),
        parkedAt: timeOut,
        takenAt: timeOut,
        outcome: z.enum(TRIED_OUTCOMES),
      }),
    ),
    /** What the test cannot know. */
    unknown: z.array(z.string()),
  }),
);
export type RedriveRuleTrial = z.infer<typeof redriveRuleTrialSchema>;

const bodyOut = {
  filter: z.record(z.string(), z.unknown()),
  delayMs: countOut,
  redrivesPerEvent: countOut,
  lane: laneSchema,
  ratePerSecond: z.nullable(z.number()),
  canary: z.union([z.boolean(), z.literal("auto"), z.record(z.string(), z.unknown())]),
  brake: z.record(z.string(), z.nullable(z.number())),
  onlyIf: z.object({ groupSucceeded: z.boolean(), breakerClosed: z.boolean() }),
  everyMs: countOut,
  limits: z.object({
    eventsPerRun: countOut,
    eventsPerHour: z.nullable(countOut),
    eventsPerDay: z.nullable(countOut),
  }),
  stopAtFailureRatio: z.number(),
};

export const redriveRuleSchema = named(
  "RedriveRule",
  z.object({
    ...ruleOutShape,
    ...bodyOut,
    digest: z.string(),
    /** Why the last round could not apply it; null = it could. */
    fault: nullableText,
    enabledBy: nullableText,
    enabledAt: nullableTime,
    /** It switched itself off; null = a person did, or it is on. */
    stopped: z.nullable(z.object({ at: timeOut, reason: z.string() })),
    lastHour: countOut,
    lastDay: countOut,
    /** Of the events of its redrives since it was switched on, 24 hours at most; delivered = sent + deduplicated. */
    outcomes: z.object({
      ...{ delivered: countOut, deduplicated: countOut },
      ...{ confirmed: countOut, failed: countOut, bounced: countOut },
    }),
    lastRun: z.nullable(z.object({ redriveId: idOut, at: timeOut, events: countOut, live: z.boolean() })),
    /** The newest trial of the rule as it is; null = it was not tried. */
    trial: z.nullable(
      z.object({ id: idOut, at: timeOut, by: z.string(), taken: countOut, stayed: countOut, never: countOut }),
    ),
  }),
);
export type RedriveRuleOut = z.infer<typeof redriveRuleSchema>;

export const redriveRuleRowSchema = z.extend(
  z.pick(redriveRuleSchema, {
    ...{ id: true, name: true, position: true, enabled: true, version: true, fault: true },
    ...{ createdBy: true, createdAt: true, updatedBy: true, updatedAt: true, enabledBy: true, enabledAt: true },
    ...{ lastHour: true, lastDay: true, outcomes: true },
  }),
  {
    body: z.unknown(),
    lookedTo: nullableText,
    stoppedAt: nullableTime,
    stopReason: nullableText,
    /** Each person who made a version of it. */
    authors: z.array(z.string()),
    lastRun: z.nullable(z.object({ redriveId: idOut, atMs: z.number(), events: countOut, live: z.boolean() })),
  },
);
export type RedriveRuleRow = z.infer<typeof redriveRuleRowSchema>;

export const redriveRuleListSchema = z.object({ items: z.array(redriveRuleSchema) });
export type RedriveRuleList = z.infer<typeof redriveRuleListSchema>;

export const readRedriveRuleBody = (stored: unknown) => readStoredRule<RedriveRuleBody>(ruleBodySchema, stored);
