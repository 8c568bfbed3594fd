import { isSecretName, REDACTED, redactJson, redactText } from "@/lib/guard/redaction/redact.pure";

/** Levels of a recipe that are shown. */
const DEPTH_MAX = 100;
/** What a step, a condition or an operation says about its place. */
const SAID = ["value", "json", "equals", "equalsJson", "matches"];
const PLACES = ["at", "path", "to"];
/** Fields that hold JSON as text. */
const TEXTS = ["json", "equalsJson", "patch"];

/**
 * A recipe (see `repair/recipes/recipes.shapes.ts`) for a viewer who may not reveal: what it writes to a masked field, or compares with
 * one, is masked as the field is. An expression that names a masked field is masked as a whole: what it computes from is
 * not told from what it writes.
 */
export function redactRecipe(recipe: unknown, depth = DEPTH_MAX): unknown {
  if (typeof recipe !== "object" || recipe === null) return recipe;
  if (depth === 0) return REDACTED;
  if (Array.isArray(recipe)) return recipe.map((part) => redactRecipe(part, depth - 1));
  const fields = recipe as Record<string, unknown>;
  const secret = PLACES.some((name) => typeof fields[name] === "string" && isSecretPlace(fields[name]));
  const shown = Object.entries(fields).map(([name, value]) => {
    if (value !== null && (isSecretName(name) || (secret && SAID.includes(name)))) return [name, REDACTED];
    if (typeof value !== "string") return [name, redactRecipe(value, depth - 1)];
    if (name === "expression") return [name, namesSecret(value) ? REDACTED : redactText(value)];
    return [name, TEXTS.includes(name) ? jsonText(value, depth) : value];
  });
  return Object.fromEntries(shown);
}

function isSecretPlace(place: string): boolean {
  return place.split(/[/:]/).some((segment) => isSecretName(segment.replaceAll("~1", "/").replaceAll("~0", "~")));
}

function namesSecret(expression: string): boolean {
  return (expression.match(/[\w-]+/g) ?? []).some(isSecretName);
}

/** Shown as it is unless it holds something to mask: its numbers may be larger than this language reads. */
function jsonText(text: string, depth: number): string {
  // By its text first: of a name that occurs twice the parser drops the first value.
  const plain = redactJson(text);
  if (plain === null) return REDACTED;
  const parsed: unknown = JSON.parse(plain);
  const shown = JSON.stringify(redactRecipe(parsed, depth - 1));
  return shown === JSON.stringify(parsed) ? plain : shown;
}
