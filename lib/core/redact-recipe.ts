import { isSecretName, REDACTED, redactText } from "./redact";

/** Levels of a recipe that are shown. */
const DEPTH_MAX = 100;
/** What a step, a condition or an operation says about its place. */
const SAID = ["value", "json", "equals", "equalsJson", "matches"];
const PLACES = ["at", "path", "to"];
/** Fields that hold JSON as text. */
const TEXTS = ["json", "equalsJson", "patch"];

/**
 * A recipe (see `contract/recipes.ts`) for a viewer who may not reveal: what it writes to a masked field, or compares with
 * one, is masked as the field is. An expression is masked as the text of an error is.
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
    if (name === "expression") return [name, redactText(value)];
    return [name, TEXTS.includes(name) ? jsonText(value, depth) : value];
  });
  return Object.fromEntries(shown);
}

function isSecretPlace(place: string): boolean {
  return place.split(/[/:]/).some((segment) => isSecretName(segment));
}

/** Shown as it is unless it holds something to mask: its numbers may be larger than this language reads. */
function jsonText(text: string, depth: number): string {
  try {
    const parsed: unknown = JSON.parse(text);
    const shown = JSON.stringify(redactRecipe(parsed, depth - 1));
    return shown === JSON.stringify(parsed) ? text : shown;
  } catch {
    return REDACTED;
  }
}
