import { maskedPlaces } from "@/lib/guard/masking/mask-json.pure";
import { type MaskSet, ruleOfName, ruleOfPlace, segmentsOf } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";

/** Fields in which a recipe of any kind, also of one that was removed, says a value. */
const VALUES = ["value", "json", "equals", "equalsJson", "matches", "patch", "expression"];

/**
 * A recipe (see `repair/recipes/recipes.shapes.ts`) for a viewer who may not reveal: without all of its values when one of them is
 * masked, or when it names a masked place.
 */
export function redactRecipe(recipe: unknown, set: MaskSet): unknown {
  if (typeof recipe !== "object" || recipe === null || isPlain(recipe, set)) return recipe;
  return JSON.parse(JSON.stringify(recipe, (name, value) => (VALUES.includes(name) ? REDACTED : value)));
}

function isPlain(recipe: object, set: MaskSet): boolean {
  if (!("steps" in recipe) && !("patch" in recipe && "kind" in recipe && recipe.kind === "json-patch")) return false;
  return (
    maskedPlaces(JSON.stringify(recipe), set)?.length === 0 &&
    !stringsOf(recipe).some((text) => isSecretPlace(text, set))
  );
}

/** All strings of a recipe, also of JSON that it holds as text. */
function stringsOf(value: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(value, (_, inner) => {
    if (typeof inner === "string") found.push(inner, ...(/^\s*[{[]/.test(inner) ? stringsOf(parsed(inner)) : []));
    return inner;
  });
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isSecretPlace(text: string, set: MaskSet): boolean {
  if (text.startsWith("header:")) return ruleOfName(set, text.slice("header:".length)) !== null;
  if (text !== "" && !text.startsWith("/")) return false;
  const path = segmentsOf(text);
  return ruleOfPlace(set, path) !== null || isAround(path, set);
}

/** A value of this place may hold what a pointer masks. */
function isAround(path: readonly string[], { pointers }: MaskSet): boolean {
  return pointers.some(
    (pointer) => pointer.length > path.length && path.every((name, at) => pointer[at] === "*" || pointer[at] === name),
  );
}
