import type { BodyReader } from "@/lib/platform/plain/dead-letter.pure";
import {
  elementsOf,
  endOfValue,
  isObjectAt,
  JsonSyntax,
  membersOf,
  skipSpace,
} from "@/lib/platform/plain/raw-json.pure";

/** A larger payload is not read: reading it at each arrival would delay its neighbours. */
export const POINTED_BYTES_MAX = 1024 * 1024;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NOTHING = { found: false, text: null };

/**
 * Reads scalars of a JSON payload by JSON pointer (RFC 6901). The payload is parsed once, at the first pointer. A payload
 * that is no JSON object or array, or is larger than POINTED_BYTES_MAX, holds nothing.
 */
export function bodyReader(payload: Uint8Array): BodyReader {
  let document: unknown;
  let isRead = false;
  return (pointer) => {
    if (!isRead) {
      isRead = true;
      document = documentIn(payload, POINTED_BYTES_MAX);
    }
    const value = valueAt(document, pointer);
    return value === undefined ? NOTHING : { found: true, text: scalarText(value, payload, pointer) };
  };
}

/** The value at `pointer` in a parsed document; undefined when it leads nowhere. */
export function valueAt(document: unknown, pointer: string): unknown {
  let at = document;
  for (const key of keysOf(pointer)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** The JSON object or array that a payload is, parsed; undefined when it is none or is larger. */
export function documentIn(payload: Uint8Array, bytesMax: number): unknown {
  if (payload.byteLength > bytesMax) return undefined;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  // Skips compressed and binary bodies without parsing them.
  const first = bytes[startOf(bytes)];
  if (first !== 0x7b && first !== 0x5b) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8", startOf(bytes)));
  } catch {
    return undefined;
  }
}

/** The value that `valueAt` found, as text with all digits; null when it is no string, number or boolean. */
export function scalarText(value: unknown, payload: Uint8Array, pointer: string): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") return null;
  // JSON.parse has rounded any other number: its digits are read from the payload.
  return Number.isSafeInteger(value) ? String(value) : digitsAt(payload, pointer);
}

/** The text of the value at `pointer`, as it stands there. Scans the objects and arrays that enclose it, and builds none. */
function digitsAt(payload: Uint8Array, pointer: string): string | null {
  try {
    let at = startOf(payload);
    for (const key of keysOf(pointer)) {
      const span = isObjectAt(payload, at)
        ? membersOf(payload, at, Number.POSITIVE_INFINITY)!.findLast((member) => member.key === key)
        : elementsOf(payload, at)[Number(key)];
      if (span === undefined) return null;
      at = span.start;
    }
    return Buffer.from(payload.subarray(at, endOfValue(payload, at))).toString("latin1");
  } catch (error) {
    if (error instanceof JsonSyntax) return null;
    throw error;
  }
}

function startOf(bytes: Uint8Array): number {
  return skipSpace(bytes, BYTE_ORDER_MARK.equals(bytes.subarray(0, 3)) ? 3 : 0);
}

/** The same few pointers are read in each message. */
const split = new Map<string, string[]>();
const SPLIT_MAX = 1_000;

function keysOf(pointer: string): string[] {
  let keys = split.get(pointer);
  if (keys !== undefined) return keys;
  keys = pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (split.size === SPLIT_MAX) split.clear();
  split.set(pointer, keys);
  return keys;
}
