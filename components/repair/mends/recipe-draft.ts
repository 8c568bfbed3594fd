import { JSON_TYPES } from "@/lib/selection/operations/recipe.pure";
import type {
  CONVERSIONS,
  Recipe,
  RecipeCondition,
  RecipeStep,
  RecordedRecipe,
} from "@/lib/selection/operations/recipe.shapes";

/** A recipe while it is written: every kind keeps its text, so that a change of the tab loses nothing. */
export type RecipeDraft = {
  kind: Recipe["kind"];
  steps: StepDraft[];
  jsonPatch: string;
};

export const STEP_OPS = ["set", "rename", "remove", "copy", "move", "convert"] as const;
type StepOp = (typeof STEP_OPS)[number];
export const CONVERT_TO = [
  "string",
  "number",
  "boolean",
  "null",
  "json",
  "json-text",
] as const satisfies typeof CONVERSIONS;

/** One step: every field as text, of which the step's `op` uses some. */
export type StepDraft = {
  key: number;
  op: StepOp;
  at: string;
  /** A pointer (copy, move), a name (rename) or a type (convert). */
  to: string;
  /** JSON. */
  value: string;
  overwrite: boolean;
  when: ConditionDraft | null;
};

export const TESTS = ["exists", "missing", "equals", "differs", "type", "matches"] as const;
export type ConditionDraft = { at: string; test: (typeof TESTS)[number]; value: string };

export const EMPTY_DRAFT: RecipeDraft = {
  kind: "form",
  steps: [newStep(0)],
  jsonPatch: "[]",
};

export function newStep(key: number): StepDraft {
  return { key, op: "set", at: "", to: "", value: "", overwrite: false, when: null };
}

/** The draft that the tab has stored as text; null = none, or one of another version of Parkade that the page cannot show. */
export function keptDraft(text: string | null): RecipeDraft | null {
  const kept: Partial<RecipeDraft> | null = JSON.parse(text ?? "null");
  if (kept === null || typeof kept !== "object") return null;
  const { kind, jsonPatch, steps } = kept;
  if ((kind !== "form" && kind !== "json-patch") || typeof jsonPatch !== "string" || !Array.isArray(steps)) return null;
  return steps.every(isStep) ? { kind, jsonPatch, steps } : null;
}

function isStep(step: unknown): boolean {
  if (!hasTypesOf(newStep(0), step)) return false;
  const { op, when } = step as StepDraft;
  if (!STEP_OPS.includes(op)) return false;
  return when === null || (hasTypesOf({ at: "", test: "", value: "" }, when) && TESTS.includes(when.test));
}

function hasTypesOf(model: object, value: unknown): boolean {
  if (value === null || typeof value !== "object") return false;
  return Object.entries(model).every(([name, known]) => typeof (value as never)[name] === typeof known);
}

export type RecipeFault = { step: number | null; field: string; detail: string };

const PLACE = /^(|(\/([^~/]|~[01])*)+|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/;
const NO_PLACE = "must be a JSON pointer such as /customer/id, or header: and a name";

/** The recipe of a draft, or what is wrong with it. */
export function recipeOf(draft: RecipeDraft): { recipe: Recipe; faults: [] } | { recipe: null; faults: RecipeFault[] } {
  const faults = faultsOf(draft);
  if (faults.length > 0) return { recipe: null, faults };
  switch (draft.kind) {
    case "form":
      return { recipe: { kind: "form", steps: draft.steps.map(stepOf) }, faults: [] };
    case "json-patch":
      return { recipe: { kind: "json-patch", patch: draft.jsonPatch }, faults: [] };
  }
}

function faultsOf(draft: RecipeDraft): RecipeFault[] {
  const whole = (field: string, detail: string): RecipeFault[] => [{ step: null, field, detail }];
  switch (draft.kind) {
    case "form":
      return draft.steps.length === 0
        ? whole("steps", "A recipe needs a step.")
        : draft.steps.flatMap((step, at) => stepFaults(step).map(([field, detail]) => ({ step: at, field, detail })));
    case "json-patch": {
      const patch = parsed(draft.jsonPatch);
      if (!Array.isArray(patch)) return whole("patch", "A JSON Patch is a list of operations in JSON.");
      return patch.length === 0 ? whole("patch", "The patch has no operation.") : [];
    }
  }
}

/** An empty place is the whole payload. Only a conversion takes it: a field that was left empty must not replace everything. */
function stepFaults({ op, at, to, value, when }: StepDraft): [field: string, detail: string][] {
  const faults: [string, string][] = [];
  if (!PLACE.test(at) || (at === "" && op !== "convert")) faults.push(["at", NO_PLACE]);
  if (op === "set" && parsed(value) === undefined) faults.push(["value", valueFault(value)]);
  if (op === "rename" && to === "") faults.push(["to", "give it a new name"]);
  if ((op === "copy" || op === "move") && (to === "" || !PLACE.test(to))) faults.push(["to", NO_PLACE]);
  if (when !== null) {
    if (!PLACE.test(when.at)) faults.push(["when", NO_PLACE]);
    if ((when.test === "equals" || when.test === "differs") && parsed(when.value) === undefined) {
      faults.push(["when value", "must be JSON"]);
    }
    if (when.test === "matches" && when.value === "")
      faults.push(["when value", "must be text; * stands for any characters"]);
  }
  return faults;
}

function valueFault(value: string): string {
  if (value.trim() === "") return "give it a value, as JSON";
  if (/^\s*[[{"]/.test(value)) return "its JSON is incomplete or invalid";
  return `text needs double quotes: ${JSON.stringify(value.trim())}`;
}

/** The faults of fields that hold a text: they are shown while it is typed. What is still empty is not wrong yet. */
export function faultsOfTyped({ steps }: RecipeDraft, faults: readonly RecipeFault[]): RecipeFault[] {
  return faults.filter(({ step, field }) => {
    const written = step === null ? undefined : steps[step];
    if (!written) return false;
    const { when, ...fields } = written;
    const text = { ...fields, when: when?.at ?? "", "when value": when?.value ?? "" }[field as "at"];
    return text !== undefined && text !== "";
  });
}

/** undefined = no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Values go as JSON text: a number beyond 2^53 would be rounded by parsing it here. */
function stepOf({ op, at, to, value, overwrite, when }: StepDraft): RecipeStep {
  const only = { ...(when === null ? {} : { when: conditionOf(when) }) };
  const over = overwrite ? { overwrite } : {};
  switch (op) {
    case "set":
      return { op, at, json: value, ...only };
    case "rename":
      return { op, at, to, ...over, ...only };
    case "remove":
      return { op, at, ...only };
    case "copy":
    case "move":
      return { op, from: at, to, ...over, ...only };
    case "convert":
      return { op, at, to: CONVERT_TO.find((type) => type === to) ?? "string", ...only };
  }
}

function conditionOf({ at, test, value }: ConditionDraft): RecipeCondition {
  switch (test) {
    case "exists":
      return { at, exists: true };
    case "missing":
      return { at, exists: false };
    case "equals":
      return { at, equalsJson: value };
    case "differs":
      return { at, equalsJson: value, not: true };
    case "type":
      return { at, type: JSON_TYPES.find((type) => type === value) ?? "string" };
    case "matches":
      return { at, matches: value };
  }
}

/** The draft with a saved recipe in it; what was written in the other kinds stays. */
export function draftOf(recipe: Recipe, draft: RecipeDraft = EMPTY_DRAFT): RecipeDraft {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  switch (recipe.kind) {
    case "form":
      return { ...draft, kind: recipe.kind, steps: recipe.steps.map(draftOfStep) };
    case "json-patch":
      return { ...draft, kind: recipe.kind, jsonPatch: text(recipe.patch) };
  }
}

function draftOfStep(step: RecipeStep, key: number): StepDraft {
  const draft = {
    ...newStep(key),
    op: step.op,
    at: "from" in step ? step.from : step.at,
    when: step.when ? draftOfCondition(step.when) : null,
    overwrite: "overwrite" in step && step.overwrite === true,
  };
  if (step.op === "set") return { ...draft, value: step.json ?? JSON.stringify(step.value) };
  return "to" in step ? { ...draft, to: step.to } : draft;
}

function draftOfCondition(condition: RecipeCondition): ConditionDraft {
  const { at, exists, equals, equalsJson, type, matches, not = false } = condition;
  if (exists !== undefined) return { at, test: exists === not ? "missing" : "exists", value: "" };
  if (type !== undefined) return { at, test: "type", value: type };
  if (matches !== undefined) return { at, test: "matches", value: matches };
  return { at, test: not ? "differs" : "equals", value: equalsJson ?? JSON.stringify(equals) };
}

/** `rename /custId to customerId, then convert /customerId to string`: the recipe in one line. */
export function recipeWords(recipe: RecordedRecipe): string {
  switch (recipe.kind) {
    case "form":
      return recipe.steps.map(stepWords).join(", then ");
    case "json-patch":
      return "a JSON Patch";
    case "merge-patch":
      return "a merge patch";
    case "jsonata":
      return "a JSONata expression";
  }
}

function stepWords(step: RecipeStep): string {
  const only = step.when ? " where its condition holds" : "";
  const place = "from" in step ? step.from : step.at === "" ? "the payload" : step.at;
  const to = "to" in step ? ` to ${step.to}` : "";
  return `${step.op} ${place}${to}${only}`;
}
