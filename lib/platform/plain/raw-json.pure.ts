/**
 * Where values lie in a JSON text, as byte offsets. A payload is kept byte for byte: parsing and printing it again
 * would lose big integers, key order and white space. The scanner only finds ends; that what it finds is valid JSON
 * says `JSON.parse` of the slice. It never recurses, so depth costs nothing.
 *
 * A body of 64 MiB takes longer to scan than anybody should wait: `elementsInSteps` and `membersInSteps` find the same
 * as `elementsOf` and `membersOf`, and yield null each time they have passed STEP_BYTES, so that others get a turn.
 */
export type Span = { start: number; end: number };

export type Member = Span & { key: string };

/**
 * Thrown when the text ends in the middle of a value, or has something where no value can be. No Error: its stack would
 * cost more than the scan, and a request may hold thousands of broken values.
 */
export class JsonSyntax {
  /** Byte offset. */
  readonly at: number;
  readonly message: string;

  constructor(at: number, message: string) {
    this.at = at;
    this.message = message;
  }
}

/** Deeper values are refused: a later reader may recurse, and its stack may overflow. */
export const JSON_DEPTH_MAX = 256;

/** A millisecond or less of scanning. */
const STEP_BYTES = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

export function skipSpace(bytes: Uint8Array, from: number, until = bytes.length): number {
  let at = from;
  while (at < until && isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function* spaceInSteps(bytes: Uint8Array, from: number): Generator<null, number> {
  let at = from;
  for (;;) {
    at = skipSpace(bytes, at, Math.min(bytes.length, at + STEP_BYTES));
    if (!isSpace(bytes[at])) return at;
    yield null;
  }
}

export function isObjectAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_OBJECT;
}

export function isTextAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === QUOTE;
}

export function isArrayAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_ARRAY;
}

/** Finds the end of one value, as far as it is asked to at a time. */
class ValueScan {
  private readonly bytes: Uint8Array;
  private readonly start: number;
  /** Neither text nor container: a number, a literal, or nonsense up to the next delimiter. */
  private readonly bare: boolean;
  private at: number;
  private depth = 0;
  private quoted = false;

  constructor(bytes: Uint8Array, start: number) {
    const first = bytes[start];
    if (first === undefined) throw new JsonSyntax(start, "a value is missing");
    this.bytes = bytes;
    this.start = start;
    this.at = start;
    this.bare = first !== QUOTE && first !== OPEN_OBJECT && first !== OPEN_ARRAY;
  }

  /** The offset behind the value; null when its end lies behind `until`. Throws JsonSyntax. */
  end(until: number): number | null {
    const stop = Math.min(until, this.bytes.length);
    const end = this.bare ? this.endOfBare(stop) : this.endOfNested(stop);
    if (end !== null || stop < this.bytes.length) return end;
    throw new JsonSyntax(this.start, this.depth === 0 ? "a string has no end" : "an object or array has no end");
  }

  private endOfBare(stop: number): number | null {
    while (this.at < stop && !isDelimiter(this.bytes[this.at]!)) this.at++;
    if (this.at === stop && stop < this.bytes.length) return null;
    if (this.at === this.start) throw new JsonSyntax(this.start, "a value is missing");
    return this.at;
  }

  private endOfNested(stop: number): number | null {
    const { bytes } = this;
    let { at, depth, quoted } = this;
    for (; at < stop; at++) {
      const byte = bytes[at];
      if (quoted) {
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) {
          quoted = false;
          if (depth === 0) return at + 1;
        }
      } else if (byte === QUOTE) quoted = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth--;
        if (depth === 0) return at + 1;
      }
    }
    [this.at, this.depth, this.quoted] = [at, depth, quoted];
    return null;
  }
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === COLON || byte <= 0x20;
}

/** The offset behind the value that starts at `start`. Throws JsonSyntax. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  return new ValueScan(bytes, start).end(bytes.length)!;
}

export function* valueInSteps(bytes: Uint8Array, start: number): Generator<null, number> {
  const scan = new ValueScan(bytes, start);
  for (let until = start + STEP_BYTES; ; until += STEP_BYTES) {
    const end = scan.end(until);
    if (end !== null) return end;
    yield null;
  }
}

/** What reading a value costs: how deep its containers nest (0 for a scalar, 1 for `{}`), and how many values it holds. */
export function sizeOf(bytes: Uint8Array, span: Span): { depth: number; values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  let quoted = false;
  for (let at = span.start; at < span.end; at++) {
    const byte = bytes[at];
    if (quoted) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === COMMA) values++;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      values++;
      deepest = Math.max(deepest, ++depth);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return { depth: deepest, values };
}

/** The elements of the array that starts at `start`; returns the offset behind it. Throws JsonSyntax. */
export function* elementsInSteps(bytes: Uint8Array, start: number): Generator<Span | null, number> {
  let at = yield* spaceInSteps(bytes, start + 1);
  if (bytes[at] === CLOSE_ARRAY) return at + 1;
  for (;;) {
    const end = yield* valueInSteps(bytes, at);
    yield { start: at, end };
    at = yield* spaceInSteps(bytes, end);
    if (bytes[at] === CLOSE_ARRAY) return at + 1;
    if (bytes[at] !== COMMA) throw new JsonSyntax(at, "an array needs a comma or its end here");
    at = yield* spaceInSteps(bytes, at + 1);
  }
}

/** The members of the object that starts at `start`; returns the offset behind it. Throws JsonSyntax. */
export function* membersInSteps(bytes: Uint8Array, start: number): Generator<Member | null, number> {
  let at = yield* spaceInSteps(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) throw new JsonSyntax(at, "an object needs a quoted name here");
    const keyEnd = yield* valueInSteps(bytes, at);
    const key = keyText(bytes, at, keyEnd);
    at = yield* spaceInSteps(bytes, keyEnd);
    if (bytes[at] !== COLON) throw new JsonSyntax(at, "a name needs a colon after it");
    at = yield* spaceInSteps(bytes, at + 1);
    const end = yield* valueInSteps(bytes, at);
    yield { key, start: at, end };
    at = yield* spaceInSteps(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    if (bytes[at] !== COMMA) throw new JsonSyntax(at, "an object needs a comma or its end here");
    at = yield* spaceInSteps(bytes, at + 1);
  }
}

/** The same in one go. */
export function elementsOf(bytes: Uint8Array, start: number): Span[] {
  return [...elementsInSteps(bytes, start)].filter((span) => span !== null);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The members of the object that starts at `start`, in one go; null when there are more than `membersMax`. Throws
 * JsonSyntax.
 */
export function membersOf(bytes: Uint8Array, start: number, membersMax: number): Member[] | null {
  const members: Member[] = [];
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return members;
  for (;;) {
    if (bytes[at] !== QUOTE) throw new JsonSyntax(at, "an object needs a quoted name here");
    const keyEnd = endOfValue(bytes, at);
    const key = keyText(bytes, at, keyEnd);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) throw new JsonSyntax(at, "a name needs a colon after it");
    at = skipSpace(bytes, at + 1);
    const end = endOfValue(bytes, at);
    if (members.length === membersMax) return null;
    members.push({ key, start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return members;
    if (bytes[at] !== COMMA) throw new JsonSyntax(at, "an object needs a comma or its end here");
    at = skipSpace(bytes, at + 1);
  }
}

/** No name that is known here is longer, also when each of its letters is escaped. */
const KEY_BYTES_MAX = 512;

/** Names are short and plain nearly always: those are read by their bytes. Of a name that is too long, its start. */
function keyText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > KEY_BYTES_MAX) return `${new TextDecoder().decode(bytes.subarray(start + 1, start + 65))}\u2026`;
  let key = "";
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at]!;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return parsedKey(bytes, start, end);
    key += String.fromCharCode(byte);
  }
  return key;
}

function parsedKey(bytes: Uint8Array, start: number, end: number): string {
  try {
    return JSON.parse(utf8.decode(bytes.subarray(start, end))) as string;
  } catch {
    throw new JsonSyntax(start, "a name is not a valid string");
  }
}
