import * as z from "zod/mini";
import {
  NUMBER_FIELDS,
  NUMBER_TESTS,
  type RuleBody,
  TEXT_FIELDS,
  TEXT_TESTS,
} from "@/lib/intake/admission/admission.pure";
import { deletion, has, idOut, named, nullableText, reasonSchema, timeOut } from "@/lib/platform/api/schemas.shapes";
import { isStorableText, TEXT_MAX, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";
import {
  readStoredRule,
  ruleChangeShape,
  ruleName,
  ruleText,
  ruleOutShape as storedRuleShape,
  triedId,
  yesOrNo,
} from "@/lib/rules/rule.shapes";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

/** Each arrival is judged by all rules of its source, and by the rules of every source. */
export const RULES_PER_SOURCE_MAX = 50;
const CONDITIONS_MAX = 10;
const VALUE_CHARS_MAX = 200;
const LABEL_CHARS_MAX = 120;
const POINTER = /^(?:\/(?:[^~]|~[01])*)+$/;

const pointer = z
  .string("must be a JSON pointer such as /order/id")
  .check(
    z.maxLength(VALUE_CHARS_MAX, `at most ${VALUE_CHARS_MAX} characters`),
    z.regex(POINTER, "must be a JSON pointer such as /order/id"),
    z.refine(isStorableText, UNSTORABLE_TEXT),
  );
const headerName = ruleText(VALUE_CHARS_MAX);
const not = z.optional(yesOrNo);

const textTest = {
  is: z.enum(TEXT_TESTS),
  value: ruleText(VALUE_CHARS_MAX),
  ignoreCase: z.optional(yesOrNo),
  not,
};
const presence = { is: z.literal("present"), not };
const TESTS_TEXT = `must be one of ${[...TEXT_TESTS, "present"].join(", ")}`;

function testable<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.discriminatedUnion(
    "is",
    [z.strictObject({ ...shape, ...textTest }), z.strictObject({ ...shape, ...presence })],
    TESTS_TEXT,
  );
}

const CONDITION_FIELDS = [...TEXT_FIELDS, "header", "body", ...NUMBER_FIELDS];
const conditionSchema = z.discriminatedUnion(
  "field",
  [
    testable({ field: z.enum(TEXT_FIELDS) }),
    testable({ field: z.literal("header"), name: headerName }),
    testable({ field: z.literal("body"), pointer }),
    z.strictObject({
      field: z.enum(NUMBER_FIELDS),
      is: z.enum(NUMBER_TESTS, `must be one of ${NUMBER_TESTS.join(", ")}`),
      value: z.int("must be a whole number").check(z.gte(0, "must be at least 0")),
      not,
    }),
  ],
  `field must be one of ${CONDITION_FIELDS.join(", ")}`,
);

const FROM_TEXT = "must be errorType, header or body";
const codeSchema = z.union(
  [
    z.strictObject({ value: ruleText(TEXT_MAX.errorCode) }),
    z.strictObject({ from: z.literal("errorType", FROM_TEXT) }),
    z.strictObject({ from: z.literal("header", FROM_TEXT), name: headerName }),
    z.strictObject({ from: z.literal("body", FROM_TEXT), pointer }),
  ],
  'must be { value }, { from: "errorType" }, { from: "header", name } or { from: "body", pointer: "/…" }',
);

const effectSchema = z
  .strictObject({
    errorCode: z.optional(codeSchema),
    /** Label of the group, one group for each error code. */
    group: z.optional(ruleText(LABEL_CHARS_MAX)),
    /** `early`: the failure is permanent; `confirm`: a person must confirm the redrive. */
    park: z.optional(z.enum(["early", "confirm"], "must be early or confirm")),
    drop: z.optional(z.literal(true, "must be true: leave it out to not drop")),
  })
  .check(
    z.refine((effect) => Object.keys(effect).length > 0, "must say what to do: errorCode, group, park or drop"),
    z.refine(
      ({ drop, ...rest }) => drop === undefined || Object.values(rest).every((value) => value === undefined),
      "drop cannot be combined with others: a dropped message is not stored",
    ),
  )
  .register(z.globalRegistry, {
    minProperties: 1,
    if: has("drop"),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { maxProperties: 1 },
  });

const when = z.array(conditionSchema).check(z.maxLength(CONDITIONS_MAX, `at most ${CONDITIONS_MAX} conditions`));
const ruleBody = {
  when,
  do: effectSchema,
};

const dropsSome = z.refine<RuleBody>((rule) => rule.do.drop === undefined || rule.when.length > 0, {
  path: ["when"],
  error: "a rule that drops needs a condition: without one it drops every message of its source",
});

/** What a rule holds in the store. */
const ruleBodySchema = z.strictObject(ruleBody).check(dropsSome);

/** Says in the API's document what `dropsSome` says. */
function describeDrop(schema: z.core.$ZodType): void {
  z.globalRegistry.add(schema, {
    ...z.globalRegistry.get(schema),
    if: { properties: { do: has("drop") } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { when: { minItems: 1 } } },
  });
}

const source = z.optional(z.nullable(ruleText(TEXT_MAX.sourceName)));
const ruleShape = { name: ruleName, source, ...ruleBody };

const triedRule = z.strictObject({ source, ...ruleBody }).check(dropsSome);
describeDrop(triedRule);

/** A rule of which the try asks what it would do. */
export const tryRequestSchema = named(
  "AdmissionTry",
  z.strictObject({
    rule: triedRule,
    id: triedId,
    /** How many of the newest events of the source are looked at. */
    newest: z._default(z.int().check(z.gte(1, "must be at least 1"), z.lte(500, "must be at most 500")), 200),
  }),
  {
    rule: {
      source: "orders",
      when: [{ field: "errorType", is: "endsWith", value: "ValidationException" }],
      do: { errorCode: { value: "VALIDATION_ERROR" }, park: "early" },
    },
  },
);
export type TryRequest = z.infer<typeof tryRequestSchema>;

export const ruleRequestSchema = named(
  "AdmissionRuleRequest",
  z
    .strictObject({
      ...ruleShape,
      enabled: z._default(yesOrNo, false),
      reason: reasonSchema,
    })
    .check(dropsSome),
  {
    name: "validation errors are permanent",
    source: "orders",
    when: [{ field: "errorType", is: "endsWith", value: "ValidationException" }],
    do: { errorCode: { value: "VALIDATION_ERROR" }, park: "early" },
    reason: "a redrive never helped",
  },
);
describeDrop(ruleRequestSchema);
export type RuleRequest = z.infer<typeof ruleRequestSchema>;

export const ruleChangeSchema = named(
  "AdmissionRuleChange",
  z.strictObject({
    ...ruleChangeShape,
    source,
    when: z.optional(when),
    do: z.optional(effectSchema),
    /** Its place among the rules, from 1. */
    position: z.optional(z.int("must be a whole number").check(z.gte(1, "the first position is 1"))),
  }),
  { enabled: true, version: 2, reason: "tried on yesterday's events" },
);
export type RuleChange = z.infer<typeof ruleChangeSchema>;

export const ruleDeletionSchema = deletion("AdmissionRuleDeletion", "the producer no longer sends them");
const mark = z.nullable(z.enum(ADMISSION_MARKS));

const admittedSchema = z.object({ errorCode: z.string(), group: nullableText, mark });

export const trialSchema = named(
  "AdmissionTrial",
  z.object({
    /** Events that were looked at, the newest of the source; what was dropped before is not among them. */
    checked: z.int(),
    matched: z.int(),
    dropped: z.int(),
    /** Of the matched ones, those of which something would differ. */
    changed: z.int(),
    /** The rule could not be applied to these. */
    failed: z.int(),
    fault: nullableText,
    /** Some matched events, as they are admitted without the rule and with it. */
    samples: z.array(
      z.object({
        id: idOut,
        eventId: z.string(),
        source: z.string(),
        firstSeen: timeOut,
        error: nullableText,
        /** null = dropped. */
        before: z.nullable(admittedSchema),
        after: z.nullable(admittedSchema),
      }),
    ),
  }),
);
export type Trial = z.infer<typeof trialSchema>;

const countsSchema = z.object({ matched: z.int(), dropped: z.int(), failed: z.int() });
export type RuleCounts = z.infer<typeof countsSchema>;

const ruleOutShape = {
  ...storedRuleShape,
  source: nullableText,
  /** null = what is stored is no rule of this version of Parkade: it is not applied, and `fault` says why. */
  when: z.nullable(when),
  do: z.nullable(effectSchema),
  fault: nullableText,
  /** Arrivals of the last hour (the one that runs and the one before), and of the last 24 hours. */
  lastHour: countsSchema,
  lastDay: countsSchema,
};
const ruleSchema = named("AdmissionRule", z.object(ruleOutShape), {
  id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30",
  position: 1,
  enabled: true,
  createdBy: "maria",
  createdAt: "2026-11-22T02:44:59.120Z",
  updatedBy: "maria",
  updatedAt: "2026-11-22T02:44:59.120Z",
  name: "validation errors are permanent",
  source: "orders",
  version: 2,
  when: [{ field: "errorType", is: "endsWith", value: "ValidationException" }],
  do: { errorCode: { value: "VALIDATION_ERROR" }, park: "early" },
  fault: null,
  lastHour: { matched: 3, dropped: 0, failed: 0 },
  lastDay: { matched: 120, dropped: 0, failed: 0 },
});
export type RuleOut = z.infer<typeof ruleSchema>;

const countedOut = z.nullable(z.partial(countsSchema));
export const ruleRowSchema = z.object({
  ...storedRuleShape,
  source: nullableText,
  body: z.unknown(),
  lastHour: countedOut,
  lastDay: countedOut,
});
export type RuleRow = z.infer<typeof ruleRowSchema>;

export const ruleListSchema = z.object({
  items: z.array(ruleSchema),
  /** Events that were marked because a newer version of their aggregate was processed before: no rule does that. */
  superseded: z.object({ lastHour: z.int(), lastDay: z.int() }),
});
export type RuleList = z.infer<typeof ruleListSchema>;

/** A change's answer: the rule, and what a rule that was switched on would have done to the newest events. */
export const changedRuleSchema = z.object({ ...ruleOutShape, trial: z.nullable(trialSchema) });
export type ChangedRule = z.infer<typeof changedRuleSchema>;

/** GET /api/v1/admission-rules/{id}: a few messages that it dropped, and on which it failed, newest first. */
export const ruleDetailSchema = z.object({
  ...ruleOutShape,
  samples: z.array(
    z.object({
      id: idOut,
      at: timeOut,
      outcome: z.enum(["dropped", "failed"]),
      source: z.string(),
      eventId: z.string(),
      errorCode: z.string(),
      errorType: nullableText,
      errorMessage: nullableText,
      fault: nullableText,
    }),
  ),
});
export type RuleDetail = z.infer<typeof ruleDetailSchema>;

export const readRuleBody = (stored: unknown) => readStoredRule<RuleBody>(ruleBodySchema, stored);
