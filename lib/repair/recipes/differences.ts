import { maskPointer, maskValue } from "@/lib/guard/masking/mask.pure";
import { MASK, type MaskedPlace, maskedPlaces, maskPlaces } from "@/lib/guard/masking/mask-json.pure";
import { type MaskSet, ruleOfPlace } from "@/lib/guard/masking/mask-rule.pure";
import { isSecretHeader, REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Difference } from "@/lib/repair/recipes/recipes.shapes";
import { MendedMessage, type Message, pointerOf } from "./document";
import { MendFault } from "./fault";
import { type Entry, type JsonValue, sameValue } from "./json-value";
import { indexTexts, replaceLongestMatches } from "./longest-match.pure";

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
  const hides = hidingOf(before, set);
  const add = (path: readonly (string | number)[], from: JsonValue | null, to: JsonValue | null) => {
    if (found.length > SHOWN_MAX) return;
    const hidden = ruleOfPlace(set, path) !== null;
    const shown = (value: JsonValue | null, hide: (text: string) => string) =>
      value === null ? null : hidden ? REDACTED : hide(maskedText(value.print(), set, path));
    const place = (path: readonly (string | number)[]) => maskPointer(pointerOf(path), set);
    found.push({ at: place(path), before: shown(from, cut), after: shown(to, hides) });
  };
  if (before.payload !== after.payload) {
    try {
      compare(new MendedMessage(before, null).root(), new MendedMessage(after, null).root(), [], add);
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

/** Shorter ones are in many texts that say nothing. */
const SECRET_CHARS_MIN = 3;
const LEAF = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The payload's text and its masked places; none when it is no JSON. */
function masksOfText(message: Message, set: MaskSet): { text: string; places: MaskedPlace[] } {
  try {
    const text = new MendedMessage(message, null).text();
    return { text, places: maskedPlaces(text, set) ?? [] };
  } catch {
    return { text: "", places: [] };
  }
}

/** Takes the masked values of a message out of a text, and cuts it as it is shown. */
function hidingOf(before: Message, set: MaskSet): (text: string) => string {
  const { text, places } = masksOfText(before, set);
  const secrets = places
    .filter(({ shown }) => shown === MASK)
    .flatMap(({ start, end }) => text.slice(start, end).match(LEAF) ?? [])
    .flatMap((leaf) => (leaf.startsWith('"') ? formsOf(leaf) : [leaf]))
    .filter(({ length }) => length >= SECRET_CHARS_MIN);
  const hidden = indexTexts(secrets);
  return (shown) => cut(replaceLongestMatches(shown, hidden, { by: REDACTED, charsMax: CHARS_MAX }));
}

/** How a string of JSON may be written elsewhere: as it is there, in a header, and escaped anew. */
function formsOf(leaf: string): string[] {
  const raw = leaf.slice(1, -1);
  if (!raw.includes("\\")) return [raw];
  const value = JSON.parse(leaf) as string;
  return [raw, value, JSON.stringify(value).slice(1, -1)];
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

type Sides = { before: Message; after: Message; set: MaskSet; hides: (text: string) => string };

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
    const shown = (value: string | null, hide: (text: string) => string) =>
      value !== null && isSecretHeader(name) ? REDACTED : value && hide(maskValue(name, value, set));
    found.push({ at: `header:${name}`, before: shown(was, cut), after: shown(is, hides) });
  }
}
