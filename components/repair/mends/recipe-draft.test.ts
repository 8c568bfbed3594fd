import { describe, expect, it } from "vitest";
import { type Recipe, recipeSchema } from "@/lib/selection/operations/recipe.shapes";
import {
  draftOf,
  EMPTY_DRAFT,
  faultsOfTyped,
  keptDraft,
  newStep,
  type RecipeDraft,
  recipeOf,
  type StepDraft,
} from "./recipe-draft";

const form = (...steps: Partial<StepDraft>[]): RecipeDraft => ({
  ...EMPTY_DRAFT,
  steps: steps.map((step, key) => ({ ...newStep(key), ...step })),
});
const faults = (draft: RecipeDraft) => recipeOf(draft).faults.map(({ step, field }) => [step, field]);

const RECIPES: Recipe[] = [
  {
    kind: "form",
    steps: [
      { op: "set", at: "/amount", json: "12345678901234567890" },
      { op: "rename", at: "/custId", to: "customerId", overwrite: true },
      { op: "remove", at: "header:x-old", when: { at: "header:x-old", exists: true } },
      { op: "copy", from: "/a", to: "/b", when: { at: "/a", exists: false } },
      { op: "move", from: "/a", to: "/lines/-", when: { at: "/a", equalsJson: "12", not: true } },
      { op: "convert", at: "/customerId", to: "string", when: { at: "/customerId", type: "number" } },
      { op: "convert", at: "", to: "json", when: { at: "/v", matches: "1.*" } },
    ],
  },
  { kind: "json-patch", patch: '[{"op": "remove", "path": "/a"}]' },
];

describe("a recipe", () => {
  it.each(RECIPES)("comes back from its draft as it was: %j", (recipe) => {
    expect(recipeOf(draftOf(recipe)).recipe).toEqual(recipe);
  });
  it.each(RECIPES)("of the form is one that the API takes: %j", (recipe) => {
    expect(recipeSchema.parse(recipeOf(draftOf(recipe)).recipe)).toEqual(recipe);
  });
  it("shows values that were sent as values, as JSON", () => {
    expect(draftOf({ kind: "json-patch", patch: [{ a: 1 }] }).jsonPatch).toBe('[\n  {\n    "a": 1\n  }\n]');
    expect(draftOf({ kind: "form", steps: [{ op: "set", at: "/a", value: "x" }] }).steps[0]!.value).toBe('"x"');
    const when = { at: "/a", exists: true, not: true };
    expect(draftOf({ kind: "form", steps: [{ op: "remove", at: "/a", when }] }).steps[0]!.when!.test).toBe("missing");
  });
});

describe("what is wrong with a draft", () => {
  it("names the step and the field", () => {
    expect(faults(form({ op: "rename", at: "custId", to: "" }, { op: "set", at: "/a", value: "north" }))).toEqual([
      [0, "at"],
      [0, "to"],
      [1, "value"],
    ]);
    expect(faults(form({ op: "remove", at: "" }))).toEqual([[0, "at"]]);
    expect(faults(form({ op: "set", at: "", value: "1" }))).toEqual([[0, "at"]]);
    expect(faults(form({ op: "move", at: "/a", to: "" }))).toEqual([[0, "to"]]);
    const when = { at: "a", test: "equals" as const, value: "x y" };
    expect(faults(form({ op: "remove", at: "/a", when }))).toEqual([
      [0, "when"],
      [0, "when value"],
    ]);
  });
  it("is said of what is typed, and not of what is still empty", () => {
    const typed = (draft: RecipeDraft) =>
      faultsOfTyped(draft, recipeOf(draft).faults).map(({ step, field, detail }) => [step, field, detail]);
    expect(typed(form({ op: "set", at: "/a", value: "oops" }))).toEqual([
      [0, "value", 'text needs double quotes: "oops"'],
    ]);
    expect(typed(form({ op: "set", at: "/a", value: '{"a":' }))).toEqual([
      [0, "value", "its JSON is incomplete or invalid"],
    ]);
    expect(typed(form({ op: "set" }, { op: "rename", at: "/a" }))).toEqual([]);
    expect(typed({ ...EMPTY_DRAFT, kind: "json-patch", jsonPatch: "[" })).toEqual([]);
    const when = { at: "", test: "equals" as const, value: "x y" };
    expect(typed(form({ op: "remove", at: "/a", when }))).toEqual([[0, "when value", "must be JSON"]]);
  });
  it("is an empty recipe of any kind", () => {
    expect(faults(form())).toEqual([[null, "steps"]]);
    expect(faults({ ...EMPTY_DRAFT, kind: "json-patch" })).toHaveLength(1);
    expect(faults({ ...EMPTY_DRAFT, kind: "json-patch", jsonPatch: "[" })).toHaveLength(1);
  });
});

describe("a draft that a tab has kept", () => {
  it.each([
    form({ op: "set", at: "/a", value: "1", when: { at: "/b", test: "exists", value: "" } }),
    { ...EMPTY_DRAFT, kind: "json-patch" as const, jsonPatch: "[{" },
  ])("comes back as it was", (draft) => {
    expect(keptDraft(JSON.stringify(draft))).toEqual(draft);
  });

  it.each([
    null,
    "null",
    "7",
    JSON.stringify({ ...EMPTY_DRAFT, kind: "script" }),
    JSON.stringify({ kind: "form", jsonPatch: "[]" }),
    JSON.stringify({ ...EMPTY_DRAFT, jsonPatch: undefined }),
    JSON.stringify({ ...EMPTY_DRAFT, steps: [{ key: 0, op: "set", path: "/a" }] }),
    JSON.stringify(form({ op: "merge" as never })),
    JSON.stringify(form({ when: { at: "/b", test: "like" as never, value: "" } })),
  ])("is none when another version wrote it: %s", (text) => {
    expect(keptDraft(text)).toBeNull();
  });
});
