import { isSecretHeader } from "@/lib/guard/redaction/redact.pure";
import { isHeaderText } from "@/lib/platform/plain/header-fault.pure";
import type { Recipe, RecipeCondition, RecipeStep } from "@/lib/selection/operations/recipe.shapes";
import { entryOf, indexOf, type MendedMessage, type Place, placeOf, pointerOf } from "./document";
import { MendFault } from "./fault";
import { JsonValue, sameValue } from "./json-value";
import { JSON_NUMBER } from "./number-text";

/** Changes one message. Throws MendFault. */
export type Edit = (message: MendedMessage) => void;

type Step<Op extends RecipeStep["op"]> = Extract<RecipeStep, { op: Op }>;

/** Throws RecipeFault. */
export function compileForm({ steps }: Extract<Recipe, { kind: "form" }>): Edit {
  const edits = steps.map((step, index) => compileStep(step, `recipe.steps[${index}]`));
  return (message) => {
    for (const edit of edits) edit(message);
  };
}

/** A recipe that can never be applied, or that means two things. */
export class RecipeFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

function compileStep(step: RecipeStep, field: string): Edit {
  const edit = compileEdit(step, field);
  if (!step.when) return edit;
  const holds = compileCondition(step.when, `${field}.when`);
  return (message) => {
    if (holds(message)) edit(message);
  };
}

function compileEdit(step: RecipeStep, field: string): Edit {
  switch (step.op) {
    case "set":
      return compileSet(step, field);
    case "rename":
      return compileRename(step, field);
    case "remove":
      return compileRemove(step, field);
    case "copy":
    case "move":
      return compileMove(step, field);
    case "convert":
      return compileConvert(step, field);
  }
}

/** The text of a value that a recipe states as a value or as JSON text. */
function statedValue(value: unknown, json: string | undefined, field: string): string {
  return json === undefined ? JSON.stringify(value) : statedJson(json, field).print();
}

/** null = the text is one JSON document; else what is wrong with it. */
function strictJson(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `is not JSON: ${(error as Error).message.slice(0, 200)}`;
  }
}

/** JSON that a recipe states as text. Throws RecipeFault, also for a name that occurs twice. */
function statedJson(text: string, field: string): JsonValue {
  const stated = parsedJson(text, field);
  assertOneMeaning(stated, field);
  return stated;
}

/** Throws RecipeFault for what is no JSON. */
export function parsedJson(text: string, field: string): JsonValue {
  const fault = strictJson(text);
  if (fault !== null) throw new RecipeFault(field, fault);
  if (depthOf(text) > DEPTH_MAX) throw new RecipeFault(field, `is nested deeper than ${DEPTH_MAX}`);
  return JsonValue.of(text.trim());
}

/** Levels of what a recipe puts in. Each level is work for every event. */
const DEPTH_MAX = 128;

/** The text is valid JSON. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [bracket] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (bracket === "{" || bracket === "[") deepest = Math.max(deepest, ++depth);
    else if (bracket === "}" || bracket === "]") depth--;
  }
  return deepest;
}

/** Throws RecipeFault for a name that occurs twice. */
export function assertOneMeaning(value: JsonValue, field: string, path: readonly (string | number)[] = []): void {
  if (value.type !== "object" && value.type !== "array") return;
  const names = new Set<string>();
  for (const [index, { name, value: inner }] of value.entries().entries()) {
    const at = [...path, name ?? index];
    if (name !== null && names.has(name)) {
      throw new RecipeFault(field, `names ${pointerOf(at)} twice: it means two things`);
    }
    if (name !== null) names.add(name);
    assertOneMeaning(inner, field, at);
  }
}

function compileSet({ at, value, json }: Step<"set">, field: string): Edit {
  const place = placeOf(at);
  const text = statedValue(value, json, `${field}.json`);
  if (place.kind === "header") {
    const header = headerValueOf(JsonValue.of(text), `${field}.value`);
    return (message) => {
      if (message.header(place.name) !== header) message.setHeader(place.name, header);
    };
  }
  return (message) => putValue(message, place.path, JsonValue.of(text));
}

/** Sets the value at a path, and makes the objects that are missing on the way. An equal value keeps its text. */
function putValue(message: MendedMessage, path: readonly string[], value: JsonValue): void {
  if (path.length === 0) {
    if (!sameValue(message.root(), value)) message.replaceRoot(value);
    return;
  }
  let holder = message.root();
  for (const [depth, segment] of path.entries()) {
    const entry = entryOf(holder, segment);
    const last = depth === path.length - 1;
    if (entry === null) {
      // The rest of the path, as one value.
      const rest = path
        .slice(depth + 1)
        .reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, value.print());
      insertAt(message, holder, { segment, value: JsonValue.of(rest), path: path.slice(0, depth + 1) });
      message.touched.push(pointerOf(path));
      return;
    }
    if (last) {
      if (sameValue(entry.value, value)) return;
      message.grow(value, entry.value);
      entry.value = value;
      message.touched.push(pointerOf(path));
      return;
    }
    holder = entry.value;
  }
}

/** Into an object under a new name, into an array before an element or (`-`) at its end. */
export function insertAt(
  message: MendedMessage,
  holder: JsonValue,
  { segment, value, path }: { segment: string; value: JsonValue; path: readonly string[] },
): void {
  const entries = holder.type === "object" || holder.type === "array" ? holder.entries() : null;
  if (entries === null) throw new MendFault("no-such-place", pointerOf(path));
  const isObject = holder.type === "object";
  const index = isObject || segment === "-" ? entries.length : indexOf(segment, entries.length);
  if (index === null) throw new MendFault("no-such-place", pointerOf(path));
  message.grow(value, null);
  holder.insert(index, isObject ? segment : null, value);
}

function compileRename({ at, to, overwrite = false }: Step<"rename">, field: string): Edit {
  const place = placeOf(at);
  if (place.kind === "header") {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(to)) throw new RecipeFault(`${field}.to`, "is not the name of a header");
    assertKeptSecret(place, placeOf(`header:${to}`), `${field}.at`);
    return (message) => {
      if (message.headerIndex(place.name) < 0 || to === place.name) return;
      if (to.toLowerCase() !== place.name.toLowerCase() && message.headerIndex(to) >= 0) {
        if (!overwrite) throw new MendFault("place-taken", `header:${to}`);
        message.setHeader(to, null);
      }
      message.renameHeader(place.name, to);
    };
  }
  const { path } = place;
  const old = path.at(-1);
  if (old === undefined) throw new RecipeFault(`${field}.at`, "the whole payload has no name");
  const target = [...path.slice(0, -1), to];
  return (message) => {
    const holder = message.around(path);
    if (holder?.type !== "object" || to === old) return;
    const entry = holder.member(old);
    if (entry === null) return;
    const taken = holder.member(to);
    if (taken !== null) {
      if (!overwrite) throw new MendFault("place-taken", pointerOf(target));
      holder.remove(taken);
    }
    entry.head = JSON.stringify(to) + entry.head.slice(/"\s*:\s*$/.exec(entry.head)!.index + 1);
    entry.name = to;
    message.touched.push(place.text, pointerOf(target));
  };
}

function compileRemove({ at }: Step<"remove">, field: string): Edit {
  const place = placeOf(at);
  if (place.kind === "header") {
    return (message) => {
      if (message.headerIndex(place.name) >= 0) message.setHeader(place.name, null);
    };
  }
  if (place.path.length === 0) throw new RecipeFault(`${field}.at`, "the whole payload cannot be removed");
  return (message) => {
    if (message.find(place.path) !== null) removeAt(message, place.path);
  };
}

/** Removes what stands there. */
export function removeAt(message: MendedMessage, path: readonly string[]): void {
  const holder = message.around(path)!;
  const entry = entryOf(holder, path.at(-1)!)!;
  message.grow(null, entry.value);
  holder.remove(entry);
  message.touched.push(pointerOf(path));
}

function compileMove({ op, from, to, overwrite = false }: Step<"copy" | "move">, field: string): Edit {
  const [source, target] = [placeOf(from), placeOf(to)];
  if (from === to) throw new RecipeFault(`${field}.to`, "is the same place");
  if (op === "move" && from === "") throw new RecipeFault(`${field}.from`, "the whole payload cannot be moved");
  if (op === "move" && target.kind === "payload" && source.kind === "payload" && isUnder(target.path, source.path)) {
    throw new RecipeFault(`${field}.to`, "a value cannot be moved into itself");
  }
  assertKeptSecret(source, target, `${field}.from`);
  return (message) => {
    const text = read(message, source);
    if (text === null) return;
    if (!overwrite && read(message, target) !== null) throw new MendFault("place-taken", target.text);
    // Taken away first: an element that is moved shifts those behind it, as in JSON Patch.
    if (op === "move") {
      if (source.kind === "header") message.setHeader(source.name, null);
      else removeAt(message, source.path);
    }
    const value = JsonValue.of(text);
    if (target.kind === "payload") putValue(message, target.path, value);
    else message.setHeader(target.name, headerValueOf(value, target.text));
  };
}

/**
 * The credential of a header is shown to nobody, see `lib/guard/redaction/redact.pure.ts`: its value goes to another such header alone.
 * Throws RecipeFault. `target` null = nowhere: it is only looked at.
 */
function assertKeptSecret(source: Place, target: Place | null, field: string): void {
  if (source.kind !== "header" || !isSecretHeader(source.name)) return;
  if (target?.kind === "header" && isSecretHeader(target.name)) return;
  throw new RecipeFault(
    field,
    "is a credential, which is shown to nobody: set or remove it, ask whether it exists, or take it to a header of a credential",
  );
}

function isUnder(path: readonly string[], parent: readonly string[]): boolean {
  return parent.every((segment, index) => path[index] === segment);
}

/** What stands at a place, as JSON text; null = nothing. */
function read(message: MendedMessage, place: Place): string | null {
  if (place.kind === "payload") return message.find(place.path)?.print() ?? null;
  const text = message.header(place.name);
  return text === null ? null : JSON.stringify(text);
}

function headerValueOf(value: JsonValue, at: string): string {
  const { type } = value;
  const text = type === "string" ? value.string() : type === "number" || type === "boolean" ? value.print() : null;
  if (text === null || !isHeaderText(text)) throw new MendFault("not-a-header", at);
  return text;
}

function compileConvert({ at, to }: Step<"convert">, field: string): Edit {
  const place = placeOf(at);
  if (place.kind === "header") throw new RecipeFault(`${field}.at`, "a header is text: it cannot be converted");
  return (message) => {
    const value = message.find(place.path);
    if (value === null) return;
    const text = converted(value, to, at);
    // Unlike a value that is set, a converted one always differs.
    if (text !== value.print()) replaceAt(message, place.path, JsonValue.of(text));
  };
}

/** Puts another value where one stands. */
export function replaceAt(message: MendedMessage, path: readonly string[], value: JsonValue): void {
  const name = path.at(-1);
  if (name === undefined) {
    message.replaceRoot(value);
    return;
  }
  const entry = entryOf(message.around(path)!, name)!;
  message.grow(value, entry.value);
  entry.value = value;
  message.touched.push(pointerOf(path));
}

/** The text of the value as another type. Throws MendFault `not-convertible` where something would be lost. */
function converted(value: JsonValue, to: Step<"convert">["to"], at: string): string {
  const { type } = value;
  const text = value.print();
  if (to === type || (to === "json" && type !== "string")) return text;
  if (to === "json-text") return JSON.stringify(text);
  const said = type === "string" ? value.string() : null;
  if (to === "string" && type !== "object" && type !== "array") return JSON.stringify(text);
  if (to === "json" && said !== null && strictJson(said) === null) return said.trim();
  if (to === "number" && said !== null && JSON_NUMBER.test(said.trim())) return said.trim();
  if (to === "boolean") {
    if (said === "true" || text === "1") return "true";
    if (said === "false" || text === "0") return "false";
  }
  if (to === "null" && (said === "" || said === "null")) return "null";
  throw new MendFault("not-convertible", at);
}

function compileCondition(condition: RecipeCondition, field: string): (message: MendedMessage) => boolean {
  const { at, not = false, exists, type, matches, equals, equalsJson } = condition;
  const place = placeOf(at);
  const test = (holds: (text: string) => boolean) => (message: MendedMessage) => {
    const text = read(message, place);
    return (text !== null && holds(text)) !== not;
  };
  if (exists !== undefined) {
    return (message) => (read(message, place) !== null) === (exists !== not);
  }
  assertKeptSecret(place, null, `${field}.at`);
  if (type !== undefined) return test((text) => JsonValue.of(text).type === type);
  if (matches !== undefined) {
    const fits = compilePattern(matches);
    return test((text) => {
      const value = JsonValue.of(text);
      return fits(value.type === "string" ? value.string() : text);
    });
  }
  const wanted = JsonValue.of(statedValue(equals, equalsJson, `${field}.equalsJson`));
  return test((text) => sameValue(JsonValue.of(text), wanted));
}

/** `*` stands for any characters. Each part is searched once from where the part before ended: no pattern is slow. */
function compilePattern(pattern: string): (text: string) => boolean {
  const [first, ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (!text.startsWith(first!) || text.length < first!.length + last.length || !text.endsWith(last)) return false;
    let at = first!.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= text.length - last.length;
  };
}
