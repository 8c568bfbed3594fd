/**
 * Where values lie in a JSON text, as byte offsets. A payload is kept byte for byte: parsing and printing it again
 * would lose big integers, key order and white space. The scanner only finds ends; that what it finds is valid JSON
 * says `JSON.parse` of the slice. It never recurses, so depth costs nothing.
 */
export type Span = { start: number; end: number };

export type Member = Span & { key: string };

/** The text ends in the middle of a value, or has something where no value can be. */
export class JsonSyntax extends Error {
  /** Byte offset. */
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.name = "JsonSyntax";
    this.at = at;
  }
}

/** Deeper values are refused: whoever reads them later may recurse. */
export const JSON_DEPTH_MAX = 256;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at++;
  }
  return at;
}

export function isObjectAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_OBJECT;
}

export function isArrayAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_ARRAY;
}

function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
  }
  throw new JsonSyntax(start, "a string has no end");
}

/** The offset behind the value that starts at `start`. Throws JsonSyntax. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === undefined) throw new JsonSyntax(start, "a value is missing");
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return endOfContainer(bytes, start);
  let at = start;
  while (at < bytes.length && !isDelimiter(bytes[at]!)) at++;
  if (at === start) throw new JsonSyntax(start, "a value is missing");
  return at;
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === COLON || byte <= 0x20;
}

function endOfContainer(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  throw new JsonSyntax(start, "an object or array has no end");
}

/** How deep containers nest in `span`: 0 for a scalar, 1 for `{}`. */
export function depthOf(bytes: Uint8Array, span: Span): number {
  let depth = 0;
  let deepest = 0;
  for (let at = span.start; at < span.end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return deepest;
}

/** The elements of the array that starts at `start`, and the offset behind it. Throws JsonSyntax. */
export function elementsOf(bytes: Uint8Array, start: number): { elements: Span[]; end: number } {
  const elements: Span[] = [];
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_ARRAY) return { elements, end: at + 1 };
  for (;;) {
    const end = endOfValue(bytes, at);
    elements.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_ARRAY) return { elements, end: at + 1 };
    if (bytes[at] !== COMMA) throw new JsonSyntax(at, "an array needs a comma or its end here");
    at = skipSpace(bytes, at + 1);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The members of the object that starts at `start`, and the offset behind it. Throws JsonSyntax. */
export function membersOf(bytes: Uint8Array, start: number): { members: Member[]; end: number } {
  const members: Member[] = [];
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return { members, end: at + 1 };
  for (;;) {
    if (bytes[at] !== QUOTE) throw new JsonSyntax(at, "an object needs a quoted name here");
    const keyEnd = endOfString(bytes, at);
    const key = keyText(bytes, at, keyEnd);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) throw new JsonSyntax(at, "a name needs a colon behind it");
    at = skipSpace(bytes, at + 1);
    const end = endOfValue(bytes, at);
    members.push({ key, start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return { members, end: at + 1 };
    if (bytes[at] !== COMMA) throw new JsonSyntax(at, "an object needs a comma or its end here");
    at = skipSpace(bytes, at + 1);
  }
}

/** Names are short and plain nearly always: those are read by their bytes. */
function keyText(bytes: Uint8Array, start: number, end: number): string {
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
    throw new JsonSyntax(start, "a name is no valid string");
  }
}
