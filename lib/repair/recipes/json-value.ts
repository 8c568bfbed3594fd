import type { JsonType } from "@/lib/selection/operations/recipe.pure";
import { MendFault } from "./fault";
import { sameNumber } from "./number-text";

/** A member of an object, or an element of an array, with the characters around its value. */
export type Entry = {
  /** White space before the name, or before the element. */
  before: string;
  /** `"name": ` as it was written; "" in an array. */
  head: string;
  /** The name that the head says; null in an array. */
  name: string | null;
  value: JsonValue;
  /** White space after the value. */
  after: string;
};

/**
 * A value of a JSON document that can be changed. It keeps its text: only where a change leads into an object or an
 * array is that one taken apart, and even there what stands between its entries is kept. So what nobody addresses is
 * the same text afterwards, digits and duplicate names included.
 */
export class JsonValue {
  #text: string;
  /** Where it stands in the text; null = it is the whole text. */
  #span: Span | null;
  #entries: Entry[] | null = null;
  /** White space of an object or array without entries. */
  #hollow = "";

  private constructor(text: string, span: Span | null) {
    this.#text = text;
    this.#span = span;
  }

  /** `text` must be valid JSON, without white space around it. */
  static of(text: string): JsonValue {
    return new JsonValue(text, null);
  }

  get type(): JsonType {
    const first = this.#text[this.#span ? this.#span.start : 0];
    if (first === "{") return "object";
    if (first === "[") return "array";
    if (first === '"') return "string";
    if (first === "n") return "null";
    return first === "t" || first === "f" ? "boolean" : "number";
  }

  print(): string {
    if (this.#entries === null) return this.#span ? this.#text.slice(this.#span.start, this.#span.end) : this.#text;
    const [open, close] = this.type === "object" ? "{}" : "[]";
    if (this.#entries.length === 0) return open + this.#hollow + close;
    return (
      open + this.#entries.map(({ before, head, value, after }) => before + head + value.print() + after).join() + close
    );
  }

  /** Of a string, what it says. */
  string(): string {
    return stringOf(this.print());
  }

  /** Its text with the places in it, changes included. */
  spanned(): { text: string; span: Span } {
    if (this.#entries === null && this.#span) return { text: this.#text, span: this.#span };
    const text = this.print();
    const span = spanOf(text);
    if (this.#entries === null) this.#span = span;
    return { text, span };
  }

  /** Of an object or an array. */
  entries(): readonly Entry[] {
    return this.#open();
  }

  /** The member of this name, or null. Throws MendFault `duplicate-name`. */
  member(name: string): Entry | null {
    let found: Entry | null = null;
    for (const entry of this.#open()) {
      if (entry.name !== name) continue;
      if (found !== null) throw new MendFault("duplicate-name", JSON.stringify(name));
      found = entry;
    }
    return found;
  }

  /** Puts a new entry at this place, written like its neighbours. `name` is null in an array. */
  insert(index: number, name: string | null, value: JsonValue): void {
    const entries = this.#open();
    const last = entries.at(-1);
    const like = entries[Math.min(index, entries.length - 1)];
    const head = name === null ? "" : JSON.stringify(name) + (like ? colonOf(like.head) : ":");
    const before = entries[1]?.before ?? like?.before ?? "";
    const added: Entry = { before: index === 0 ? (like?.before ?? "") : before, head, name, value, after: "" };
    if (index === entries.length && last) {
      // The white space before the closing bracket stays before it.
      added.after = last.after;
      last.after = "";
    }
    entries.splice(index, 0, added);
  }

  remove(entry: Entry): void {
    const entries = this.#open();
    const index = entries.indexOf(entry);
    entries.splice(index, 1);
    if (index === entries.length && index > 0) entries[index - 1]!.after = entry.after;
    else if (entries.length === 0) this.#hollow = "";
    else if (index === 0) entries[0]!.before = entry.before;
  }

  #open(): Entry[] {
    if (this.#entries) return this.#entries;
    const text = this.#text;
    this.#span ??= spanOf(text);
    const span = this.#span;
    const { children } = span;
    const named = text.charCodeAt(span.start) === OBJECT;
    const closing = span.end - 1;
    let at = span.start + 1;
    const entries: Entry[] = [];
    for (let index = 0; index < children.length; index++) {
      const key = named ? children[index++]! : null;
      const value = children[index]!;
      const start = (key ?? value).start;
      // Behind the value: white space up to the comma or the closing bracket.
      const stop = index === children.length - 1 ? closing : text.indexOf(",", value.end);
      entries.push({
        before: text.slice(at, start),
        head: text.slice(start, value.start),
        name: key && stringOf(text.slice(key.start, key.end)),
        value: new JsonValue(text, value),
        after: text.slice(value.end, stop),
      });
      at = stop + 1;
    }
    this.#entries = entries;
    if (children.length === 0) this.#hollow = text.slice(at, closing);
    return this.#entries;
  }
}

/** Where a value stands. `children`: elements, or in turn the names and the values of members. */
type Span = { start: number; end: number; children: readonly Span[] };

const OBJECT = "{".charCodeAt(0);
const ARRAY = "[".charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = "\\".charCodeAt(0);
const NO_CHILDREN: readonly Span[] = [];
/** White space, and what stands between values. */
const isBetween = (code: number) =>
  code === 32 || code === 44 || code === 58 || code === 10 || code === 13 || code === 9;
/** `]` or `}`. */
const isClosing = (code: number) => code === 93 || code === 125;

/** The text must be valid JSON, without white space around it. Throws RangeError when it is nested too deeply. */
function spanOf(text: string): Span {
  let at = 0;
  const read = (): Span => {
    const start = at;
    const first = text.charCodeAt(at);
    if (first === OBJECT || first === ARRAY) {
      const children: Span[] = [];
      for (at++; ; ) {
        while (isBetween(text.charCodeAt(at))) at++;
        if (isClosing(text.charCodeAt(at))) break;
        children.push(read());
      }
      at++;
      return { start, end: at, children };
    }
    if (first === QUOTE) at = stringEnd(text, at);
    else for (at++; at < text.length && !isBetween(text.charCodeAt(at)) && !isClosing(text.charCodeAt(at)); ) at++;
    return { start, end: at, children: NO_CHILDREN };
  };
  return read();
}

/** Behind the closing quote of the string that begins there. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let before = quote;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
}

function stringOf(text: string): string {
  return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** What stands between a name and its value. */
function colonOf(head: string): string {
  return /"(\s*:\s*)$/.exec(head)![1]!;
}

/** Whether two values are the same: numbers by their value, objects whatever the order of their names. */
export function sameValue(left: JsonValue, right: JsonValue): boolean {
  if (left.type !== right.type) return false;
  return sameSpan(left.spanned(), right.spanned());
}

type Spanned = { text: string; span: Span };

function sameSpan(left: Spanned, right: Spanned): boolean {
  const [leftText, rightText] = [spanText(left), spanText(right)];
  if (leftText === rightText) return true;
  const first = leftText.charCodeAt(0);
  const other = rightText.charCodeAt(0);
  if (first === QUOTE) return other === QUOTE && stringOf(leftText) === stringOf(rightText);
  if (first !== OBJECT && first !== ARRAY) return isNumber(first) && isNumber(other) && sameNumber(leftText, rightText);
  const [ours, theirs] = [left.span.children, right.span.children];
  if (first !== other || ours.length !== theirs.length) return false;
  const same = (index: number, at: number) =>
    sameSpan({ text: left.text, span: ours[index]! }, { text: right.text, span: theirs[at]! });
  if (first === ARRAY) return ours.every((_, index) => same(index, index));
  const places = new Map<string, number>();
  for (let at = 0; at < theirs.length; at += 2) places.set(nameOf(right.text, theirs[at]!), at + 1);
  // With a name that occurs twice an object means two things, and equals none.
  if (places.size * 2 !== theirs.length) return false;
  for (let index = 0; index < ours.length; index += 2) {
    const name = nameOf(left.text, ours[index]!);
    const at = places.get(name);
    if (at === undefined || !same(index + 1, at)) return false;
    places.delete(name);
  }
  return true;
}

function spanText({ text, span }: Spanned): string {
  return text.slice(span.start, span.end);
}

function nameOf(text: string, key: Span): string {
  return stringOf(text.slice(key.start, key.end));
}

/** Of the first character. */
function isNumber(code: number): boolean {
  return code === 45 || (code >= 48 && code <= 57);
}
