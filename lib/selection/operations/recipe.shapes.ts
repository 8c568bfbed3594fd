import * as z from "zod/mini";
import { described, has, named } from "@/lib/platform/api/schemas.shapes";
import { JSON_TYPES, RECIPE_STEPS_MAX } from "@/lib/selection/operations/recipe.pure";

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

export const textUpTo = (most: number) =>
  z.string("must be text").check(z.maxLength(most, `at most ${most} characters`));

/** JSON without the rounding of a number that this language's parser would bring about. */
const jsonText = described(
  textUpTo(PATCH_CHARS_MAX),
  "The value as JSON text, digit by digit: numbers beyond 2^53 cannot be written as `value`",
);

/** A number that was rounded when the request was parsed was another one. */
const exact = z.refine(
  (value: unknown) => !holdsRounded(value),
  "contains a number beyond 2^53, whose last digits were lost: send it as JSON text",
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
      matches: described(z.optional(textUpTo(1_000)), "The whole text; * stands for any characters"),
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
  overwrite: described(
    z.optional(z.boolean()),
    "Replace an existing value at the new location; otherwise the event fails",
  ),
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
    to: textUpTo(1_000).check(z.minLength(1, "must not be empty")),
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
