import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import { maskParts } from "./detectors.pure";
import { maskedPlaces, maskPlaces } from "./mask-json.pure";

import { type MaskSet, NOTHING_MASKED, ruleOfName, segmentsOf } from "./mask-rule.pure";
import { findInLongText, findInText, maskText } from "./mask-text.pure";
import { type Path, type Place, pathTo, placeAt, pointerText, shownPointer } from "./place.pure";

/** Where a rule masks something: a JSON pointer, or characters of a text. */
type MaskedBy = { at: string; by: string };

export type MaskedBody = {
  text: string;
  /** Values that are masked; null = the text is masked as a whole. */
  count: number | null;
  places: MaskedBy[];
};

const PLACES_MAX = 200;
/** Characters of a payload, of which every value is read: as many as payloads have bytes unless more is set. A larger one is masked as a whole. */
export const BODY_CHARS_MAX = 1_048_576;

/**
 * A payload as text, with what the rules mask replaced. What kind of text it is shows in the text alone: whoever edits the
 * content type changes nothing that is masked.
 */
export function maskBody(text: string, set: MaskSet): MaskedBody {
  if (text.length > BODY_CHARS_MAX) return { text: REDACTED, count: null, places: [{ at: "", by: "too long" }] };
  const json = maskedPlaces(text, set);
  if (json !== null) {
    const places = json.slice(0, PLACES_MAX).map(({ place, by }) => ({ at: maskPlace(place, set), by }));
    return { text: json.length === 0 ? text : maskPlaces(text, json), count: json.length, places };
  }
  const lines = maskLines(text, set);
  if (lines !== null) return lines;
  if (set.wholeTexts) return { text: REDACTED, count: null, places: [{ at: "", by: "no JSON" }] };
  const found = findInLongText(text, set);
  const places = found.slice(0, PLACES_MAX).map(({ start, end, by }) => ({ at: `characters ${start} to ${end}`, by }));
  return { text: maskParts(text, found), count: found.length, places };
}

/** A JSON pointer whose names are shown as the document shows them: a name can be an e-mail address. */
export function maskPointer(pointer: string, set: MaskSet): string {
  return pointer === "" ? pointer : pointerText(maskPath(segmentsOf(pointer), set));
}

/** The same of a place, cut as a person reads it. */
function maskPlace(place: Place | null, set: MaskSet): string {
  return shownPointer(placeAt(maskPath(pathTo(place), set)));
}

/** No more of a name is shown: to search a megabyte of each would take time. */
const NAME_CHARS_MAX = 4_096;

function maskPath(path: Path, set: MaskSet): (string | number)[] {
  return path.map((name) => (typeof name === "number" ? name : maskName(name.slice(0, NAME_CHARS_MAX), set)));
}

function maskName(name: string, set: MaskSet): string {
  const text = JSON.stringify(name);
  return JSON.parse(maskPlaces(text, maskedPlaces(text, set) ?? [])) as string;
}

/** Lines of JSON; null = not every line is. */
function maskLines(text: string, set: MaskSet): MaskedBody | null {
  if (!/^\s*[{[]/.test(text) || !text.includes("\n")) return null;
  let count = 0;
  const places: MaskedBy[] = [];
  const shown: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const found = line.trim() === "" ? [] : maskedPlaces(line, set);
    if (found === null) return null;
    count += found.length;
    for (const { place, by } of found.slice(0, PLACES_MAX - places.length))
      places.push({ at: `line ${index + 1} ${maskPlace(place, set)}`, by });
    shown.push(maskPlaces(line, found));
  }
  return { text: shown.join("\n"), count, places };
}

export function maskNullable<Text extends string | null>(text: Text, set: MaskSet): Text {
  return (text === null ? text : maskText(text, set)) as Text;
}

/** A value under a name: masked as a whole for its name, else in the parts that the detectors find. */
export function maskValue(name: string, value: string, set: MaskSet): string {
  if (ruleOfName(set, name) !== null) return REDACTED;
  const json = /^\s*[{[]/.test(value) ? maskedPlaces(value, set) : null;
  return json === null ? maskText(value, set) : maskPlaces(value, json);
}

/** The headers as they may be shown, in their order. */
export function maskHeaders(headers: readonly Header[], set: MaskSet): Header[] {
  return headers.map((header) => {
    const [name, value, encoding] = header;
    if (value === null) return header;
    // A detector sees nothing in base64; its name may still be masked.
    const shown =
      encoding === "bytes" && ruleOfName(set, name) === null
        ? maskBytes(value, set)
        : encoding === "amqp" && isTypedMasked(value, set)
          ? REDACTED
          : maskValue(name, value, set);
    return shown === value ? header : [name, shown];
  });
}

/** A header's bytes in base64 are shown only when they hold nothing that is masked. */
function maskBytes(base64: string, set: MaskSet): string {
  let text: string;
  try {
    text = atob(base64);
  } catch {
    return base64;
  }
  return findInText(text, set).length === 0 ? base64 : REDACTED;
}

/** AMQP types whose values are base64: `{ "!": "bytes", "value": "…" }`. */
const TYPED_BYTES: readonly unknown[] = ["bytes", "longstr-bytes", "encoded"];

/** Whether a typed AMQP header contains something masked that its JSON hides: bytes, and names in pairs. */
function isTypedMasked(json: string, set: MaskSet): boolean {
  const holds = (value: unknown, depth: number): boolean => {
    if (typeof value !== "object" || value === null) return false;
    if (depth === 0) return true;
    const { "!": type, value: typed } = value as Record<string, unknown>;
    if (typeof typed === "string" && TYPED_BYTES.includes(type)) return maskBytes(typed, set) !== typed;
    const isNamed = (pair: unknown) => Array.isArray(pair) && ruleOfName(set, String(pair[0])) !== null;
    if (type === "table" && Array.isArray(typed) && typed.some(isNamed)) return true;
    return Object.values(value).some((entry) => holds(entry, depth - 1));
  };
  try {
    return holds(JSON.parse(json), DEPTH_MAX);
  } catch {
    return false;
  }
}

export function maskTags(tags: Readonly<Record<string, string>>, set: MaskSet): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, maskValue(name, value, set)]));
}

type Tags = Record<string, string[]>;
type TypedFilter = { q?: string | undefined; tags?: Tags | undefined; "not.tags"?: Tags | undefined };

/** Masks a filter typed by a user with `reveal`: its tags by name and value, its words as text. */
export function maskFilter<Filter extends TypedFilter>(filter: Filter, set: MaskSet): Filter {
  if (set === NOTHING_MASKED) return filter;
  const shown = { ...filter };
  if (filter.q !== undefined) shown.q = maskText(filter.q, set);
  for (const member of ["tags", "not.tags"] as const) {
    const tags = filter[member];
    if (tags === undefined) continue;
    const masked = Object.entries(tags).map(([name, values]) => [
      name,
      values.map((value) => maskValue(name, value, set)),
    ]);
    shown[member] = Object.fromEntries(masked) as Filter[typeof member];
  }
  return shown;
}

/** Levels that are searched; nothing below them is shown. Brokers nest two or three levels. */
const DEPTH_MAX = 20;

/** The origin of an event: broker properties and headers can hold what a rule masks. */
export function maskOrigin(origin: Origin, set: MaskSet): Origin {
  return maskMembers(origin as Record<string, unknown>, set, DEPTH_MAX) as Origin;
}

/** A value of any kind, such as the details of an entry in a log. */
export function maskData<Value>(value: Value, set: MaskSet): Value {
  return maskAny(value, set, DEPTH_MAX) as Value;
}

function maskAny(value: unknown, set: MaskSet, depth: number): unknown {
  if (typeof value === "string") return maskText(value, set);
  if (typeof value === "number" || typeof value === "bigint") {
    const shown = maskText(String(value), set);
    return shown === String(value) ? value : shown;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return REDACTED;
  if (!Array.isArray(value)) return maskMembers(value as Record<string, unknown>, set, depth);
  // A header as a pair of name and value.
  if (value.length >= 2 && value.length <= 3 && typeof value[0] === "string" && ruleOfName(set, value[0]) !== null)
    return [value[0], REDACTED];
  return value.map((entry) => maskAny(entry, set, depth - 1));
}

function maskMembers(members: Record<string, unknown>, set: MaskSet, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      maskText(name, set),
      value !== null && ruleOfName(set, name) !== null ? REDACTED : maskAny(value, set, depth - 1),
    ]),
  );
}
