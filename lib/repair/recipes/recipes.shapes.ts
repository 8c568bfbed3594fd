import * as z from "zod/mini";
import { EVENT_STATUSES } from "@/lib/events/event-state.pure";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import { reasonSchema, selectionSchema } from "@/lib/events/selection/selection.shapes";
import { tellSchema } from "@/lib/observe/channels/tell.shapes";
import {
  countsOut,
  described,
  has,
  idOut,
  named,
  nullableText,
  timeOut,
  uuidText,
} from "@/lib/platform/api/schemas.shapes";
import { JSON_TYPES, MEND_OUTCOMES, RECIPE_STEPS_MAX } from "@/lib/repair/mends/mending.pure";

/**
 * How a payload and its headers are changed. A place is a JSON pointer (RFC 6901) into the payload, such as
 * `/customer/id` ("" = the whole payload), or `header:` and the name of a header.
 */

/** Characters of a patch as text, or of one value. */
const PATCH_CHARS_MAX = 256 * 1024;

const place = described(
  z
    .string("must be a JSON pointer such as /customer/id, or header: and the name of a header")
    .check(
      z.maxLength(2_000, "at most 2,000 characters"),
      z.regex(
        /^(|(\/([^~/]|~[01])*)+|header:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,1024})$/,
        "must be a JSON pointer such as /customer/id (~ is written ~0, / in a name ~1), or header: and the name of a header",
      ),
    ),
  "A JSON pointer into the payload, or `header:` and the name of a header",
);

const text = (most: number) => z.string("must be text").check(z.maxLength(most, `at most ${most} characters`));

/** JSON without the rounding of a number that this language's parser would bring about. */
const jsonText = described(
  text(PATCH_CHARS_MAX),
  "The value as JSON text, digit by digit: numbers beyond 2^53 cannot be written as `value`",
);

/** A number that was rounded when the request was parsed was another one. */
const exact = z.refine(
  (value: unknown) => !holdsRounded(value),
  "holds a number beyond 2^53, whose last digits were lost: send it as JSON text",
);

function holdsRounded(value: unknown): boolean {
  if (typeof value === "number")
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return typeof value === "object" && value !== null && Object.values(value).some(holdsRounded);
}

/** All types are listed: from an untyped member `equals`, generators make a method that Java already has. */
const anyValue = z.optional(z.unknown().check(exact)).register(z.globalRegistry, {
  anyOf: JSON_TYPES.map((type) => (type === "array" ? { type, items: {} } : { type })),
});

const conditionSchema = named(
  "RecipeCondition",
  z
    .strictObject({
      at: place,
      exists: z.optional(z.boolean()),
      equals: anyValue,
      equalsJson: z.optional(jsonText),
      type: z.optional(z.enum(JSON_TYPES, `must be one of ${JSON_TYPES.join(", ")}`)),
      matches: described(z.optional(text(1_000)), "The whole text; * stands for any characters"),
      /** Turns the condition round: the step is taken where it does not hold. */
      not: z.optional(z.boolean()),
    })
    .check(
      z.refine(
        ({ at: _at, not: _not, ...tests }) => Object.values(tests).filter((test) => test !== undefined).length === 1,
        "must have exactly one of exists, equals, equalsJson, type, matches",
      ),
    ),
  { at: "/customer/id", type: "string" },
);
z.globalRegistry.add(conditionSchema, {
  ...z.globalRegistry.get(conditionSchema),
  oneOf: ["exists", "equals", "equalsJson", "type", "matches"].map(has),
});
export type RecipeCondition = z.infer<typeof conditionSchema>;

const when = { when: z.optional(conditionSchema) };
const overwrite = {
  overwrite: described(z.optional(z.boolean()), "Replace what stands at the new place; otherwise the event fails"),
};

export const CONVERSIONS = ["string", "number", "boolean", "null", "json", "json-text"] as const;

const setStep = z
  .strictObject({ op: z.literal("set"), at: place, value: anyValue, json: z.optional(jsonText), ...when })
  .check(z.refine(({ value, json }) => (value === undefined) !== (json === undefined), "must have value or json"));
z.globalRegistry.add(setStep, { oneOf: ["value", "json"].map(has) });

const stepSchema = z.discriminatedUnion("op", [
  setStep,
  z.strictObject({
    op: z.literal("rename"),
    at: place,
    to: text(1_000).check(z.minLength(1, "must not be empty")),
    ...overwrite,
    ...when,
  }),
  z.strictObject({ op: z.literal("remove"), at: place, ...when }),
  z.strictObject({ op: z.literal("copy"), from: place, to: place, ...overwrite, ...when }),
  z.strictObject({ op: z.literal("move"), from: place, to: place, ...overwrite, ...when }),
  z.strictObject({
    op: z.literal("convert"),
    at: place,
    to: z.enum(CONVERSIONS, `must be one of ${CONVERSIONS.join(", ")}`),
    ...when,
  }),
]);
export type RecipeStep = z.infer<typeof stepSchema>;

export const recipeSchema = named(
  "Recipe",
  z.discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("form"),
      steps: z
        .array(stepSchema)
        .check(z.minLength(1, "has no step"), z.maxLength(RECIPE_STEPS_MAX, `more than ${RECIPE_STEPS_MAX} steps`)),
    }),
    z.strictObject({
      kind: z.literal("json-patch"),
      /** RFC 6902: the list of operations, or the same as JSON text. */
      patch: z.union([
        jsonText,
        z.array(z.unknown()).check(exact, z.maxLength(RECIPE_STEPS_MAX, `more than ${RECIPE_STEPS_MAX} operations`)),
      ]),
    }),
  ]),
  {
    kind: "form",
    steps: [
      { op: "rename", at: "/custId", to: "customerId" },
      { op: "convert", at: "/customerId", to: "string", when: { at: "/customerId", type: "number" } },
    ],
  },
);
export type Recipe = z.infer<typeof recipeSchema>;

/** A recipe in the history: mends before 0.2 could be merge patches and JSONata expressions, which no request takes any more. */
export const recordedRecipeSchema = named(
  "RecordedRecipe",
  z.union([
    recipeSchema,
    z.object({ kind: z.literal("merge-patch"), patch: z.unknown() }),
    z.object({ kind: z.literal("jsonata"), expression: z.string() }),
  ]),
  { kind: "jsonata", expression: "$merge([$, { 'customer': custId }])" },
);
export type RecordedRecipe = z.infer<typeof recordedRecipeSchema>;

const EXAMPLE: { select: z.input<typeof selectionSchema>; recipe: Recipe } = {
  select: { filter: { source: ["orders"], errorCode: ["VALIDATION_ERROR"] } },
  recipe: { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] },
};

/** POST /api/v1/events/mend/preview: one page of what the recipe does to each event. */
export const mendPreviewSchema = named(
  "MendPreviewRequest",
  z.strictObject({
    select: selectionSchema,
    recipe: recipeSchema,
    /** Only these; absent = all. */
    outcome: z.optional(z.enum(MEND_OUTCOMES)),
    cursor: z.optional(text(2_000)),
    limit: z._default(z.int().check(z.minimum(1), z.maximum(100)), 20),
  }),
  { ...EXAMPLE, limit: 20 },
);
export type MendPreviewRequest = z.infer<typeof mendPreviewSchema>;

/** One place that differs. Values are JSON text, of a header its text; null = not there. Long ones are cut. */
const differenceSchema = z.object({ at: z.string(), before: nullableText, after: nullableText });
export type Difference = z.infer<typeof differenceSchema>;

const mendItemSchema = named(
  "MendItem",
  z.object({
    id: idOut,
    eventId: z.string(),
    source: z.string(),
    status: z.enum(EVENT_STATUSES),
    /** What the recipe was applied to. */
    revision: z.int(),
    outcome: z.enum(MEND_OUTCOMES),
    /** Why it is refused, fails or breaks its schema; null = it does not. */
    reason: nullableText,
    detail: nullableText,
    differences: z.array(differenceSchema),
    /** There are more differences than are listed. */
    more: z.boolean(),
    bytesBefore: z.int(),
    bytesAfter: z.int(),
  }),
);
export type MendItem = z.infer<typeof mendItemSchema>;

export const mendPageSchema = z.object({
  items: z.array(mendItemSchema),
  /** null = no event is left. A page may hold fewer items than asked for and have a next one. */
  nextCursor: nullableText,
  /** Events that this page has looked at. */
  looked: z.int(),
});
export type MendPage = z.infer<typeof mendPageSchema>;

/**
 * POST /api/v1/events/mend/count: applies the recipe to all selected events, without storing anything. Each call goes on
 * for about a second; the next one takes the cursor of the answer.
 */
export const mendCountRequestSchema = named(
  "MendCountRequest",
  z.strictObject({ select: selectionSchema, recipe: recipeSchema, cursor: z.optional(text(4_000)) }),
  EXAMPLE,
);
export type MendCountRequest = z.infer<typeof mendCountRequestSchema>;

export const mendCountsSchema = named(
  "MendCounts",
  z.object({
    /** Events looked at by now: the sum of the five. */
    looked: z.int(),
    changed: z.int(),
    unchanged: z.int(),
    /** Changed to what their JSON Schema refuses. */
    breaksSchema: z.int(),
    failed: countsOut,
    refused: countsOut,
    /** `exact`: all events were looked at. `atLeast`: up to the cursor. */
    kind: z.enum(["exact", "atLeast"]),
    /** The moment of the selection: later arrivals are left out. */
    asOf: timeOut,
    /** Some of what this call looked at, by outcome. */
    samples: z.array(mendItemSchema),
    /** For the next call; null = all are counted. */
    nextCursor: nullableText,
  }),
);
export type MendCounts = z.infer<typeof mendCountsSchema>;

/** POST /api/v1/events/mend -> 202 with a bulk operation of kind `mend`. */
export const mendRequestSchema = named(
  "MendRequest",
  z.strictObject({
    select: selectionSchema,
    recipe: recipeSchema,
    reason: reasonSchema,
    /** Revise also the events that then break their JSON Schema. */
    breaking: z._default(z.boolean(), false),
    /** Channels that get a message when it ends or is stuck. */
    tell: z.optional(tellSchema),
  }),
  { ...EXAMPLE, reason: "the producer renamed custId", breaking: false },
);
export type MendRequest = z.infer<typeof mendRequestSchema>;
export const mendAnswerSchema = bulkAnswerSchema;

/** POST /api/v1/events/undo-mend -> 202 with a bulk operation of kind `undo-mend`. */
export const undoMendSchema = named(
  "UndoMendRequest",
  z.strictObject({
    select: z.strictObject({ operation: uuidText("must be the id of a bulk operation of kind mend") }),
    reason: reasonSchema,
  }),
  { select: { operation: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60" }, reason: "the recipe named the wrong field" },
);
export type UndoMendRequest = z.infer<typeof undoMendSchema>;

const RECIPE_NAME_MAX = 100;

/** POST /api/v1/recipes. The same name again is the next version of it. */
export const saveRecipeSchema = named(
  "SaveRecipeRequest",
  z.strictObject({
    name: z
      .string("give it a name")
      .check(
        z.regex(/\S/, "give it a name"),
        z.maxLength(RECIPE_NAME_MAX, `at most ${RECIPE_NAME_MAX} characters`),
        z.trim(),
      ),
    recipe: recipeSchema,
    /** Only who sees this source sees the recipe; null = everybody. */
    source: z._default(z.nullable(z.string()), null),
  }),
  { name: "custId to customerId", recipe: EXAMPLE.recipe, source: "orders" },
);
export type SaveRecipeRequest = z.infer<typeof saveRecipeSchema>;

export const savedRecipeSchema = named(
  "SavedRecipe",
  z.object({
    id: idOut,
    name: z.string(),
    /** The first is 1. */
    version: z.int(),
    recipe: recipeSchema,
    source: nullableText,
    createdBy: z.string(),
    createdAt: timeOut,
  }),
);
export type SavedRecipe = z.infer<typeof savedRecipeSchema>;

/** GET /api/v1/recipes: the newest version of each, by name. */
export const recipeListSchema = z.object({ items: z.array(savedRecipeSchema) });
export type RecipeList = z.infer<typeof recipeListSchema>;

/** What the cursors say. `asked`: hash of selection and recipe, so that the sums of one do not go on with another. */
const cursorShape = { asked: z.string(), asOfMs: z.number(), cutoff: idOut, after: z.nullable(idOut) };
const sum = z.int().check(z.minimum(0));
const sums = { looked: sum, changed: sum, unchanged: sum, breaksSchema: sum };
export const mendPageCursor = z.strictObject(cursorShape);
export type MendPlace = z.infer<typeof mendPageCursor>;
export const mendCountCursor = z.strictObject({
  ...cursorShape,
  sums: z.strictObject({ ...sums, failed: z.record(z.string(), sum), refused: z.record(z.string(), sum) }),
});
