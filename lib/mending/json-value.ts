import { type Node, type ParseError, parseTree } from "jsonc-parser";
import type { JsonType } from "@/lib/core/mending";
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
  #node: Node | null;
  #entries: Entry[] | null = null;
  /** White space of an object or array without entries. */
  #hollow = "";

  private constructor(text: string, node: Node | null) {
    this.#text = text;
    this.#node = node;
  }

  /** `text` must be valid JSON, without white space around it. */
  static of(text: string): JsonValue {
    return new JsonValue(text, null);
  }

  get type(): JsonType {
    const first = this.#node ? this.#text[this.#node.offset] : this.#text[0];
    if (first === "{") return "object";
    if (first === "[") return "array";
    if (first === '"') return "string";
    if (first === "n") return "null";
    return first === "t" || first === "f" ? "boolean" : "number";
  }

  /** The value as text. */
  print(): string {
    if (this.#entries === null) return this.#node ? slice(this.#text, this.#node) : this.#text;
    const [open, close] = this.type === "object" ? "{}" : "[]";
    if (this.#entries.length === 0) return open + this.#hollow + close;
    return (
      open + this.#entries.map(({ before, head, value, after }) => before + head + value.print() + after).join() + close
    );
  }

  /** Of a string, what it says. */
  string(): string {
    return JSON.parse(this.print()) as string;
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
    const node = this.#node ?? treeOf(this.#text);
    const text = this.#text;
    const children = node.children ?? [];
    const closing = node.offset + node.length - 1;
    let at = node.offset + 1;
    this.#entries = children.map((child, index) => {
      const [key, held] = child.type === "property" ? [child.children![0]!, child.children![1]!] : [null, child];
      const start = (key ?? held).offset;
      const end = held.offset + held.length;
      // Behind the value: white space up to the comma or the closing bracket.
      const stop = index === children.length - 1 ? closing : text.indexOf(",", end);
      const entry: Entry = {
        before: text.slice(at, start),
        head: text.slice(start, held.offset),
        name: key ? (key.value as string) : null,
        value: new JsonValue(text, held),
        after: text.slice(end, stop),
      };
      at = stop + 1;
      return entry;
    });
    if (children.length === 0) this.#hollow = text.slice(at, closing);
    return this.#entries;
  }
}

function slice(text: string, { offset, length }: Node): string {
  return text.slice(offset, offset + length);
}

/** What stands between a name and its value. */
function colonOf(head: string): string {
  return /"(\s*:\s*)$/.exec(head)![1]!;
}

function treeOf(text: string): Node {
  const errors: ParseError[] = [];
  return parseTree(text, errors, { disallowComments: true })!;
}

/** Whether two values are the same: numbers by their value, objects whatever the order of their names. */
export function sameValue(left: JsonValue, right: JsonValue): boolean {
  const { type } = left;
  if (type !== right.type) return false;
  const [leftText, rightText] = [left.print(), right.print()];
  if (leftText === rightText) return true;
  if (type === "number") return sameNumber(leftText, rightText);
  if (type === "string") return left.string() === right.string();
  if (type !== "object" && type !== "array") return false;
  const [ours, theirs] = [left.entries(), right.entries()];
  if (ours.length !== theirs.length) return false;
  if (type === "array") return ours.every(({ value }, index) => sameValue(value, theirs[index]!.value));
  const named = new Map(theirs.map(({ name, value }) => [name, value]));
  // With a name that occurs twice an object means two things, and equals none.
  if (named.size !== theirs.length || new Set(ours.map(({ name }) => name)).size !== ours.length) return false;
  return ours.every(({ name, value }) => named.has(name) && sameValue(value, named.get(name)!));
}
