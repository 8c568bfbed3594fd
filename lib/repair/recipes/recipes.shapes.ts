import * as z from "zod/mini";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import {
  countsOut,
  idOut,
  named,
  nullableText,
  reasonSchema,
  timeOut,
  uuidText,
} from "@/lib/platform/api/schemas.shapes";
import { tellSchema } from "@/lib/platform/api/tell.shapes";
import { MEND_OUTCOMES } from "@/lib/repair/mends/mending.pure";
import { type Recipe, recipeSchema, textUpTo } from "@/lib/selection/operations/recipe.shapes";
import { selectionSchema } from "@/lib/selection/selection.shapes";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

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
    cursor: z.optional(textUpTo(2_000)),
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
  z.strictObject({ select: selectionSchema, recipe: recipeSchema, cursor: z.optional(textUpTo(4_000)) }),
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
