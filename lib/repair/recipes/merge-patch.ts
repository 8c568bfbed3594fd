import type { Recipe } from "@/lib/repair/recipes/recipes.shapes";
import { type MendedMessage, pointerOf } from "./document";
import { type Edit, statedJson } from "./form";
import { type Entry, JsonValue, sameValue } from "./json-value";

/** JSON Merge Patch, RFC 7386. Throws RecipeFault. */
export function compileMergePatch({ patch }: Extract<Recipe, { kind: "merge-patch" }>): Edit {
  const merged = statedJson(typeof patch === "string" ? patch : JSON.stringify(patch), "recipe.patch");
  return (message) => {
    const root = message.root();
    if (merged.type === "object" && root.type === "object") return merge(message, root, merged, []);
    message.assertPlain(root);
    const value = withoutNulls(merged);
    if (!sameValue(root, value)) message.replaceRoot(value);
  };
}

function merge(message: MendedMessage, target: JsonValue, patch: JsonValue, path: readonly string[]): void {
  for (const { name, value } of patch.entries()) {
    const at = [...path, name!];
    message.assertShown(at);
    const entry = target.member(name!);
    if (value.type === "null") {
      if (entry === null) continue;
      message.assertPlain(entry.value);
      target.remove(entry);
    } else if (value.type === "object" && entry?.value.type === "object") {
      merge(message, entry.value, value, at);
      continue;
    } else if (!put(message, target, entry, { name: name!, value: withoutNulls(value) })) continue;
    message.touched.push(pointerOf(at));
  }
}

/** False = an equal value stands there already. */
function put(
  message: MendedMessage,
  target: JsonValue,
  entry: Entry | null,
  { name, value }: { name: string; value: JsonValue },
): boolean {
  if (entry === null) {
    target.insert(target.entries().length, name, value);
    return true;
  }
  message.assertPlain(entry.value);
  if (sameValue(entry.value, value)) return false;
  entry.value = value;
  return true;
}

/** What a patch makes of nothing: an object without the members that are null. */
function withoutNulls(patch: JsonValue): JsonValue {
  const made = JsonValue.of(patch.print());
  removeNulls(made);
  return made;
}

function removeNulls(value: JsonValue): void {
  if (value.type !== "object") return;
  for (const entry of [...value.entries()]) {
    if (entry.value.type === "null") value.remove(entry);
    else removeNulls(entry.value);
  }
}
