import { maskHeaders, maskPlace } from "@/lib/guard/masking/mask.pure";
import { MASK, maskedPlaces, maskPlaces } from "@/lib/guard/masking/mask-json.pure";
import type { MaskSet } from "@/lib/guard/masking/mask-rule.pure";
import { findInText } from "@/lib/guard/masking/mask-text.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";

/** A message whose payload is text. */
export type TextMessage = { text: string; headers: readonly Header[] };

/** `recipe`: values that stand in it are its author's own, and no sign of a masked value. */
export type Showing = { set: MaskSet; recipe: unknown };

/**
 * The place of a masked value that the changed message shows more often than the message before; null = there is none. A
 * mend that stores one would show it to everybody, and the audit would hold no reveal. Finds a value that was copied, moved or
 * put into a text, also one whose rule is lost because a name around it changed.
 */
export function newlyShown(before: TextMessage, after: TextMessage, { set, recipe }: Showing): string | null {
  const secrets = secretsOf(before, set).filter(({ value }) => value !== "");
  if (secrets.length === 0) return null;
  const own = recipeLeaves(recipe);
  const [was, is] = [shownLeaves(before, set), shownLeaves(after, set)];
  const shown = secrets.find(
    ({ value }) => occurrences(value, is) > occurrences(value, was) && occurrences(value, own) === 0,
  );
  return shown === undefined ? null : shown.at();
}

/** Shorter ones count as words only: their characters stand in many texts. */
const PART_CHARS_MIN = 6;
/** JSON in a string in JSON, so many times. */
const NESTED_MAX = 4;
const LEAF = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

type Secret = { value: string; at: () => string };

function secretsOf({ text, headers }: TextMessage, set: MaskSet): Secret[] {
  const shown = maskHeaders(headers, set);
  return [
    ...textSecrets(text, set, NESTED_MAX),
    ...headers.flatMap((header, index) => {
      const value = header[1];
      if (value === null || value === shown[index]![1]) return [];
      const at = () => `header:${header[0]}`;
      const parts = shown[index]![1] === REDACTED ? [value] : partsOf(value, set);
      return parts.map((part) => ({ value: part, at }));
    }),
  ];
}

function textSecrets(text: string, set: MaskSet, depth: number): Secret[] {
  return (maskedPlaces(text, set) ?? []).flatMap(({ place, start, end, shown }) => {
    const raw = text.slice(start, end);
    const at = () => maskPlace(place, set);
    if (shown === MASK) return leavesOf(raw).map((value) => ({ value, at }));
    const value = JSON.parse(raw) as string;
    const inner = depth > 0 ? textSecrets(value, set, depth - 1).map((secret) => ({ ...secret, at })) : [];
    return inner.length > 0 ? inner : partsOf(value, set).map((part) => ({ value: part, at }));
  });
}

function partsOf(value: string, set: MaskSet): string[] {
  return findInText(value, set).map(({ start, end }) => value.slice(start, end));
}

function shownLeaves({ text, headers }: TextMessage, set: MaskSet): string[] {
  const payload = leavesOf(maskPlaces(text, maskedPlaces(text, set) ?? []));
  return [...payload, ...maskHeaders(headers, set).flatMap(([, value]) => value ?? [])];
}

/** Strings, names and numbers of a JSON text. */
function leavesOf(text: string, depth = NESTED_MAX): string[] {
  return (text.match(LEAF) ?? []).flatMap((leaf) => {
    if (!leaf.startsWith('"')) return leaf;
    const value = unquoted(leaf);
    return depth > 0 && /^\s{0,100}[{["]/.test(value) ? [value, ...leavesOf(value, depth - 1)] : value;
  });
}

/** Of a text that is not JSON, as a header may be, a leaf may be none. */
function unquoted(leaf: string): string {
  try {
    return JSON.parse(leaf) as string;
  } catch {
    return leaf.slice(1, -1);
  }
}

function recipeLeaves(recipe: unknown): string[] {
  return leavesOf(JSON.stringify(recipe) ?? "");
}

function occurrences(value: string, leaves: readonly string[]): number {
  let count = 0;
  for (const leaf of leaves) {
    for (let at = leaf.indexOf(value); at >= 0 && value !== ""; at = leaf.indexOf(value, at + value.length))
      if (value.length >= PART_CHARS_MIN || isWord(leaf, at, at + value.length)) count++;
  }
  return count;
}

const LETTER = /[\p{L}\p{N}]/u;

function isWord(text: string, start: number, end: number): boolean {
  return !LETTER.test(text[start - 1] ?? "") && !LETTER.test(text[end] ?? "");
}
