import { RECIPE_STEPS_MAX } from "@/lib/selection/operations/recipe.pure";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import { type MendedMessage, pathOf, pointerOf } from "./document";
import { MendFault } from "./fault";
import { assertOneMeaning, type Edit, insertAt, parsedJson, RecipeFault, removeAt, replaceAt } from "./form";
import { JsonValue, sameValue } from "./json-value";

/** JSON Patch, RFC 6902. Throws RecipeFault. */
export function compileJsonPatch({ patch }: Extract<Recipe, { kind: "json-patch" }>): Edit {
  const list = parsedJson(typeof patch === "string" ? patch : JSON.stringify(patch), "recipe.patch");
  if (list.type !== "array") throw new RecipeFault("recipe.patch", "must be a list of operations (RFC 6902)");
  if (list.entries().length > RECIPE_STEPS_MAX) {
    throw new RecipeFault("recipe.patch", `has more than ${RECIPE_STEPS_MAX} operations: mend one part at a time`);
  }
  if (list.entries().length === 0) throw new RecipeFault("recipe.patch", "has no operation");
  const edits = list.entries().map(({ value }, index) => compileOperation(value, `recipe.patch[${index}]`));
  return (message) => {
    for (const edit of edits) edit(message);
  };
}

const POINTER = /^(\/([^~/]|~[01])*)*$/;

function compileOperation(operation: JsonValue, field: string): Edit {
  if (operation.type !== "object") throw new RecipeFault(field, "must be an object with op and path");
  assertOneMeaning(operation, field);
  const member = (name: string) => operation.member(name)?.value ?? null;
  const text = (name: string) => {
    const value = member(name);
    if (value?.type !== "string") throw new RecipeFault(`${field}.${name}`, "must be text");
    return value.string();
  };
  const path = (name: string) => {
    const pointer = text(name);
    if (!POINTER.test(pointer))
      throw new RecipeFault(`${field}.${name}`, "must be a JSON pointer such as /customer/id");
    return pathOf(pointer);
  };
  const value = () => {
    const stated = member("value");
    if (stated === null) throw new RecipeFault(`${field}.value`, "is missing");
    return stated.print();
  };
  const op = text("op");
  switch (op) {
    case "add": {
      const [at, added] = [path("path"), value()];
      return (message) => add(message, at, JsonValue.of(added));
    }
    case "replace": {
      const [at, added] = [path("path"), value()];
      return (message) => replace(message, at, JsonValue.of(added));
    }
    case "test": {
      const [at, wanted] = [path("path"), value()];
      return (message) => {
        if (!sameValue(taken(message, at), JsonValue.of(wanted))) throw new MendFault("test-failed", pointerOf(at));
      };
    }
    case "remove": {
      const at = path("path");
      if (at.length === 0) throw new RecipeFault(`${field}.path`, "the whole payload cannot be removed");
      return (message) => {
        taken(message, at);
        removeAt(message, at);
      };
    }
    case "copy": {
      const [from, at] = [path("from"), path("path")];
      return (message) => add(message, at, JsonValue.of(taken(message, from).print()));
    }
    case "move": {
      const [from, at] = [path("from"), path("path")];
      return (message) => move(message, from, at);
    }
    default:
      throw new RecipeFault(`${field}.op`, "must be one of add, remove, replace, move, copy, test");
  }
}

function taken(message: MendedMessage, path: readonly string[]): JsonValue {
  const value = message.find(path);
  if (value === null) throw new MendFault("no-such-place", pointerOf(path));
  return value;
}

function replace(message: MendedMessage, path: readonly string[], value: JsonValue): void {
  if (!sameValue(taken(message, path), value)) replaceAt(message, path, value);
}

function add(message: MendedMessage, path: readonly string[], value: JsonValue): void {
  const name = path.at(-1);
  const holder = name === undefined ? null : message.around(path);
  if (name === undefined || (holder?.type === "object" && holder.member(name) !== null)) {
    replace(message, path, value);
    return;
  }
  if (holder === null) throw new MendFault("no-such-place", pointerOf(path));
  insertAt(message, holder, { segment: name, value, path });
  message.touched.push(pointerOf(path));
}

function move(message: MendedMessage, from: readonly string[], to: readonly string[]): void {
  const text = taken(message, from).print();
  if (pointerOf(from) === pointerOf(to)) return;
  if (from.every((segment, index) => to[index] === segment)) throw new MendFault("into-itself", pointerOf(to));
  removeAt(message, from);
  add(message, to, JsonValue.of(text));
}
