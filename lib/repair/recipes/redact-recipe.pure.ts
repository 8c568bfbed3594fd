import { maskedPlaces, maskPlaces } from "@/lib/guard/masking/mask-json.pure";
import { type MaskSet, ruleOfName, ruleOfPlace } from "@/lib/guard/masking/mask-rule.pure";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";

/** Levels of a recipe that are shown. */
const DEPTH_MAX = 100;
/** What a step, a condition or an operation says about its place. */
const SAID = ["value", "json", "equals", "equalsJson", "matches"];
const PLACES = ["at", "path", "to"];
/** Fields that hold JSON as text. */
const TEXTS = ["json", "equalsJson", "patch"];

/**
 * A recipe (see `repair/recipes/recipes.shapes.ts`) for a viewer who may not reveal: what it writes to a masked field, or compares with
 * one, is masked as the field is. A recorded expression (see `recordedRecipeSchema`) that names a masked field is masked as a whole.
 */
export function redactRecipe(recipe: unknown, set: MaskSet, depth = DEPTH_MAX): unknown {
  if (typeof recipe !== "object" || recipe === null) return recipe;
  if (depth === 0) return REDACTED;
  if (Array.isArray(recipe)) return recipe.map((part) => redactRecipe(part, set, depth - 1));
  const fields = recipe as Record<string, unknown>;
  const secret = PLACES.some((name) => typeof fields[name] === "string" && isSecretPlace(fields[name], set));
  const shown = Object.entries(fields).map(([name, value]) => {
    if (value !== null && (ruleOfName(set, name) !== null || (secret && SAID.includes(name)))) return [name, REDACTED];
    if (typeof value !== "string") return [name, redactRecipe(value, set, depth - 1)];
    if (name === "expression") return [name, namesSecret(value, set) ? REDACTED : maskText(value, set)];
    if (TEXTS.includes(name)) return [name, jsonText(value, set, depth)];
    return [name, SAID.includes(name) ? maskText(value, set) : value];
  });
  return Object.fromEntries(shown);
}

function isSecretPlace(place: string, set: MaskSet): boolean {
  if (place.startsWith("header:")) return ruleOfName(set, place.slice("header:".length)) !== null;
  const path = place
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  return ruleOfPlace(set, path) !== null;
}

function namesSecret(expression: string, set: MaskSet): boolean {
  return (expression.match(/[\w-]+/g) ?? []).some((name) => ruleOfName(set, name) !== null);
}

/** Shown as it is unless it holds something to mask: its numbers may be larger than this language reads. */
function jsonText(text: string, set: MaskSet, depth: number): string {
  // By its text first: of a name that occurs twice the parser drops the first value.
  const places = maskedPlaces(text, set);
  if (places === null) return REDACTED;
  const plain = maskPlaces(text, places);
  const parsed: unknown = JSON.parse(plain);
  const shown = JSON.stringify(redactRecipe(parsed, set, depth - 1));
  return shown === JSON.stringify(parsed) ? plain : shown;
}
