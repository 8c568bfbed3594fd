import { isDeepStrictEqual } from "node:util";
import { type Header, headerText } from "@/lib/platform/plain/dead-letter.pure";
import { MendFault } from "./fault";
import { type Entry, JsonValue } from "./json-value";

/** A JSON pointer (RFC 6901) into the payload, or a header. */
export type Place =
  | { kind: "payload"; path: readonly string[]; text: string }
  | { kind: "header"; name: string; text: string };

export function placeOf(text: string): Place {
  if (text.startsWith("header:")) return { kind: "header", name: text.slice("header:".length), text };
  return { kind: "payload", path: pathOf(text), text };
}

export function pathOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The bytes of an event, as a recipe changes them. */
export type Message = { payload: Uint8Array; contentType: string; headers: readonly Header[] };

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** A payload and its headers under change. Its methods throw MendFault. */
export class MendedMessage {
  readonly #message: Message;
  #root: JsonValue | null = null;
  /** White space and byte order mark around the document. */
  #lead = "";
  #trail = "";
  #headers: Header[] | null = null;
  /** Places that were changed, in their order. */
  readonly touched: string[] = [];

  #grown = 0;
  readonly #growthMax: number;

  /** `growthMax`: characters by which the document may grow on the way to its result. */
  constructor(message: Message, growthMax = Number.POSITIVE_INFINITY) {
    this.#message = message;
    this.#growthMax = growthMax;
  }

  /**
   * Before a value is put in the place of another one, or of none. Each step that copies the document into itself doubles
   * it: thirty of them hold the process for seconds, and half a gigabyte, before the result is measured.
   */
  grow(value: JsonValue | null, replaced: JsonValue | null): void {
    this.#grown += (value?.print().length ?? 0) - (replaced?.print().length ?? 0);
    if (this.#grown > this.#growthMax)
      throw new MendFault("too-large", `it grows by more than ${this.#growthMax} characters on the way`);
  }

  /** The document of the payload. */
  root(): JsonValue {
    this.#root ??= this.#parse();
    return this.#root;
  }

  /** The payload's text, without what stands around the document. */
  text(): string {
    return this.root().print();
  }

  #parse(): JsonValue {
    let text: string;
    try {
      text = decoder.decode(this.#message.payload);
      // The tree's parser is lenient, and takes a document for granted.
      JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    } catch {
      throw new MendFault("not-json");
    }
    const start = /^[\uFEFF \t\r\n]*/.exec(text)![0].length;
    let end = text.length;
    while (" \t\r\n".includes(text[end - 1]!)) end--;
    this.#lead = text.slice(0, start);
    this.#trail = text.slice(end);
    return JsonValue.of(text.slice(start, end));
  }

  replaceRoot(value: JsonValue): void {
    this.grow(value, this.root());
    this.#root = value;
    this.touched.push("");
  }

  /** The changed bytes; null = nothing differs. */
  result(): Message | null {
    const { contentType } = this.#message;
    const payload = this.#root ? encoder.encode(this.#lead + this.#root.print() + this.#trail) : this.#message.payload;
    const headers = this.#headers ?? this.#message.headers;
    const same = payload === this.#message.payload || Buffer.compare(payload, this.#message.payload) === 0;
    if (same && (this.#headers === null || isDeepStrictEqual(headers, this.#message.headers))) return null;
    return { payload: same ? this.#message.payload : payload, contentType, headers };
  }

  /** The value at a path; null = there is none. */
  find(path: readonly string[]): JsonValue | null {
    let value = this.root();
    for (const segment of path) {
      const entry = entryOf(value, segment);
      if (entry === null) return null;
      value = entry.value;
    }
    return value;
  }

  /** The object or array around a path; null = there is none. The path must not be empty. */
  around(path: readonly string[]): JsonValue | null {
    const holder = this.find(path.slice(0, -1));
    return holder && (holder.type === "object" || holder.type === "array") ? holder : null;
  }

  headers(): readonly Header[] {
    return this.#headers ?? this.#message.headers;
  }

  /** The place of a header in the list; -1 = there is none. Names are compared without case. */
  headerIndex(name: string): number {
    const lower = name.toLowerCase();
    const found = this.headers().flatMap(([other], index) => (other.toLowerCase() === lower ? [index] : []));
    if (found.length > 1) throw new MendFault("duplicate-name", `header:${name}`);
    return found[0] ?? -1;
  }

  /** null = there is none. Throws `not-a-header` for one that is not text. */
  header(name: string): string | null {
    const header = this.headers()[this.headerIndex(name)];
    if (!header) return null;
    const text = headerText(header);
    if (text === null) throw new MendFault("not-a-header", `header:${name}`);
    return text;
  }

  /** `value` null removes it. A header of this name keeps its place. */
  setHeader(name: string, value: string | null): void {
    const index = this.headerIndex(name);
    if (index < 0 && value === null) return;
    this.#headers ??= [...this.#message.headers];
    if (value === null) this.#headers.splice(index, 1);
    else if (index < 0) this.#headers.push([name, value]);
    else this.#headers[index] = [this.#headers[index]![0], value];
    this.touched.push(`header:${name}`);
  }

  renameHeader(name: string, to: string): void {
    const index = this.headerIndex(name);
    this.#headers ??= [...this.#message.headers];
    const [, ...rest] = this.#headers[index]!;
    this.#headers[index] = [to, ...rest] as Header;
    this.touched.push(`header:${name}`, `header:${to}`);
  }
}

const INDEX = /^(0|[1-9]\d{0,8})$/;

/** The index that a segment names, up to `most`; null = it names none. */
export function indexOf(segment: string, most: number): number | null {
  const index = INDEX.test(segment) ? Number(segment) : Number.NaN;
  return index <= most ? index : null;
}

/** The member or element that a segment of a path names. */
export function entryOf(value: JsonValue, segment: string): Entry | null {
  if (value.type === "object") return value.member(segment);
  if (value.type !== "array") return null;
  const entries = value.entries();
  const index = indexOf(segment, entries.length - 1);
  return index === null ? null : entries[index]!;
}
