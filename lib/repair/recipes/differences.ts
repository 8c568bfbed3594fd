import { maskHeaders, maskPointer, maskValue } from "@/lib/guard/masking/mask.pure";
import { MASK, maskedPlaces, maskPlaces } from "@/lib/guard/masking/mask-json.pure";
import { type MaskSet, ruleOfPlace } from "@/lib/guard/masking/mask-rule.pure";
import { type Path, pathTo } from "@/lib/guard/masking/place.pure";
import { isSecretHeader, REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Difference } from "@/lib/repair/recipes/recipes.shapes";
import { MendedMessage, type Message, pointerOf } from "./document";
import { MendFault } from "./fault";
import { type Entry, type JsonValue, sameValue } from "./json-value";

/** Differences of one event that are shown, and characters of each value. */
const SHOWN_MAX = 50;
const CHARS_MAX = 500;

/**
 * What differs between two states of a message, with what the rules mask replaced. A masked value stays masked where a recipe has
 * taken it.
 */
export function differencesOf(
  before: Message,
  after: Message,
  set: MaskSet,
): { differences: Difference[]; more: boolean } {
  const found: Difference[] = [];
  const secrets = secretsOf(before, set);
  const hides = (text: string) => secrets.has(text) || leavesOf(text).some((leaf) => secrets.has(leaf));
  const place = (path: Path, isNew: boolean) => {
    const name = path.at(-1);
    // The members of a masked value may be new members of another.
    const shown = isNew && typeof name === "string" && hides(JSON.stringify(name)) ? path.with(-1, REDACTED) : path;
    return maskPointer(pointerOf(shown), set);
  };
  const add: Add = (path, from, to) => {
    if (found.length > SHOWN_MAX) return;
    const hidden = ruleOfPlace(set, path) !== null;
    const shown = (text: string | undefined) =>
      text === undefined ? null : hidden ? REDACTED : cut(maskedText(text, set, path));
    found.push({
      at: place(path, from === null),
      before: shown(from?.print()),
      after: shown(to?.print().replace(LEAF, (leaf) => (hides(leaf) ? MASK : leaf))),
    });
  };
  if (before.payload !== after.payload) {
    try {
      compare(new MendedMessage(before).root(), new MendedMessage(after).root(), [], add);
    } catch (error) {
      // Nested too deeply to compare: the whole payload differs.
      if (!(error instanceof RangeError || error instanceof MendFault)) throw error;
      found.push({ at: "", before: null, after: null });
    }
  }
  addHeaders(found, { before, after, set, hides });
  return { differences: found.slice(0, SHOWN_MAX), more: found.length > SHOWN_MAX };
}

function maskedText(text: string, set: MaskSet, path: readonly (string | number)[]): string {
  const places = maskedPlaces(text, set, path);
  return places === null ? REDACTED : maskPlaces(text, places);
}

function cut(text: string): string {
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
}

const LEAF = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false/g;

/** Strings, names, numbers and booleans of a JSON text, those of JSON in its strings included. */
function leavesOf(text: string): string[] {
  return (text.match(LEAF) ?? []).flatMap((leaf) => {
    if (!leaf.startsWith('"')) return leaf;
    const value = stringIn(leaf);
    return /^\s*[{["]/.test(value) ? [value, ...leavesOf(value)] : value;
  });
}

/** A text that is no JSON, as a header may be, holds what only looks like a string. */
function stringIn(leaf: string): string {
  try {
    return JSON.parse(leaf) as string;
  } catch {
    return leaf.slice(1, -1);
  }
}

/** The masked leaves of a message. A recipe moves values as a whole, so each of them stays a leaf wherever it goes. */
function secretsOf({ payload, headers }: Message, set: MaskSet): Set<string> {
  const shown = maskHeaders(headers, set);
  return new Set([
    ...secretsIn(new TextDecoder().decode(payload), set),
    ...headers.flatMap(([, value], index) =>
      value === null || value === shown[index]![1] ? [] : [value, ...leavesOf(value)],
    ),
  ]);
}

function secretsIn(text: string, set: MaskSet, path: Path = []): string[] {
  return (maskedPlaces(text, set, path) ?? []).flatMap(({ place, start, end, shown }) => {
    const raw = text.slice(start, end);
    return shown === MASK ? leavesOf(raw) : secretsIn(JSON.parse(raw) as string, set, pathTo(place));
  });
}

type Add = (path: readonly (string | number)[], from: JsonValue | null, to: JsonValue | null) => void;

function compare(before: JsonValue, after: JsonValue, path: readonly (string | number)[], add: Add): void {
  if (before.print() === after.print()) return;
  if (before.type === "object" && after.type === "object") compareMembers(before.entries(), after.entries(), path, add);
  else if (before.type === "array" && after.type === "array") {
    const [old, made] = [before.entries(), after.entries()];
    const { from, beforeTo, afterTo } = changedRange(old, made);
    for (let index = from; index < Math.max(beforeTo, afterTo); index++) {
      const pair = [index < beforeTo ? old[index]!.value : null, index < afterTo ? made[index]!.value : null] as const;
      if (pair[0] && pair[1]) compare(pair[0], pair[1], [...path, index], add);
      else add([...path, index], ...pair);
    }
  } else add(path, before, after);
}

/** The elements that differ, without those that are the same at the beginning and at the end. */
function changedRange(before: readonly Entry[], after: readonly Entry[]) {
  let from = 0;
  let [beforeTo, afterTo] = [before.length, after.length];
  while (from < Math.min(beforeTo, afterTo) && sameValue(before[from]!.value, after[from]!.value)) from++;
  while (Math.min(beforeTo, afterTo) > from && sameValue(before[beforeTo - 1]!.value, after[afterTo - 1]!.value)) {
    beforeTo--;
    afterTo--;
  }
  return { from, beforeTo, afterTo };
}

/** Of a name that occurs several times, the first is compared with the first, and so on. */
function compareMembers(
  before: readonly Entry[],
  after: readonly Entry[],
  path: readonly (string | number)[],
  add: Add,
) {
  const left = Map.groupBy(after, ({ name }) => name!);
  for (const { name, value } of before) {
    const twin = left.get(name!)?.shift();
    if (twin) compare(value, twin.value, [...path, name!], add);
    else add([...path, name!], value, null);
  }
  for (const [name, entries] of left) for (const { value } of entries) add([...path, name], null, value);
}

type Sides = { before: Message; after: Message; set: MaskSet; hides: (text: string) => boolean };

function addHeaders(found: Difference[], { before, after, set, hides }: Sides): void {
  if (before.headers === after.headers) return;
  const values = ({ headers }: Message) => Map.groupBy(headers, ([name]) => name);
  const [old, made] = [values(before), values(after)];
  for (const name of new Set([...old.keys(), ...made.keys()])) {
    const text = (map: typeof old) =>
      map
        .get(name)
        ?.map(([, value]) => value ?? "")
        .join(", ") ?? null;
    const [was, is] = [text(old), text(made)];
    if (was === is) continue;
    const shown = (value: string | null) =>
      value !== null && isSecretHeader(name) ? REDACTED : value && cut(maskValue(name, value, set));
    found.push({ at: `header:${name}`, before: shown(was), after: is !== null && hides(is) ? REDACTED : shown(is) });
  }
}
