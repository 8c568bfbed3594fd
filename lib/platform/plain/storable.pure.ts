import type { DeadLetter, Header } from "@/lib/platform/plain/dead-letter.pure";
import { hash64 } from "./hash.pure";
import { isInstant } from "./iso-time.pure";

/**
 * PostgreSQL text holds neither NUL nor half a surrogate pair, and an index key has a maximum length. A broker's
 * message cannot be returned for correction, so this file makes every text storable. The change is visible, and the
 * payload, which is bytes, never changes. (Text that comes over HTTP is refused with the name of its field instead: see
 * `lib/intake/event-in.shapes.ts`.)
 */

export const TEXT_MAX = {
  sourceName: 256,
  eventId: 512,
  producer: 2_048,
  aggregateId: 512,
  aggregateType: 256,
  eventType: 256,
  traceId: 256,
  errorCode: 256,
  errorType: 512,
  /** 64 Ki characters. */
  errorMessage: 65_536,
  /** 1 Mi characters. */
  errorStack: 1_048_576,
  contentType: 256,
  tagKey: 128,
  tagValue: 512,
} as const;

export const TAGS_MAX = 16;
/** Deliveries before the event was parked. The column also counts every bounce and redrive and must never overflow. */
export const ATTEMPTS_MAX = 1_000_000;
/** Depth of containers in a JSON column (`origin`, a configuration): later readers may recurse. */
export const JSON_COLUMN_DEPTH_MAX = 32;
/** `last_error` is a summary for the list; the whole message is in the body. UTF-8 bytes. */
export const SUMMARY_BYTES_MAX = 2_048;

const NUL_SHOWN = "\u2400";

/** False for text that Postgres would refuse or change. */
export function isStorableText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** The reason why a text is refused. */
export const UNSTORABLE_TEXT = "must not contain a NUL character or half a surrogate pair";

/** The text that PostgreSQL accepts: NUL is replaced by a sign, and half surrogate pairs are replaced. */
export function storableText(text: string): string {
  return isStorableText(text) ? text : text.replaceAll("\0", NUL_SHOWN).toWellFormed();
}

/** The letter with every text storable and every key within its bound. The payload is untouched. */
export function storable(letter: DeadLetter): DeadLetter {
  if (isStorable(letter)) return letter;
  return {
    ...letter,
    eventId: key(letter.eventId, TEXT_MAX.eventId),
    aggregateType: letter.aggregateType && key(letter.aggregateType, TEXT_MAX.aggregateType),
    aggregateId: letter.aggregateId && key(letter.aggregateId, TEXT_MAX.aggregateId),
    eventType: letter.eventType && key(letter.eventType, TEXT_MAX.eventType),
    traceId: letter.traceId && key(letter.traceId, TEXT_MAX.traceId),
    errorCode: key(letter.errorCode, TEXT_MAX.errorCode),
    contentType: key(letter.contentType, TEXT_MAX.contentType),
    error: {
      type: letter.error.type && cut(letter.error.type, TEXT_MAX.errorType),
      message: letter.error.message && cut(letter.error.message, TEXT_MAX.errorMessage),
      stack: letter.error.stack && cut(letter.error.stack, TEXT_MAX.errorStack),
    },
    headers: letter.headers.every(isStorableHeader) ? letter.headers : letter.headers.map(storableHeader),
    tags: storableTags(letter.tags),
    origin: storableJson(letter.origin, 0) as DeadLetter["origin"],
    attempts: Math.min(Math.max(Math.trunc(letter.attempts) || 0, 0), ATTEMPTS_MAX),
    failedAtMs: letter.failedAtMs !== null && isInstant(letter.failedAtMs) ? letter.failedAtMs : null,
  };
}

/** Nearly all letters are storable: HTTP ingest checks its text, and a broker's message rarely holds a NUL. */
function isStorable(letter: DeadLetter): boolean {
  const { error, headers, tags, origin } = letter;
  const fits = (text: string | null, max: number) => text === null || (text.length <= max && isStorableText(text));
  return (
    fits(letter.eventId, TEXT_MAX.eventId) &&
    fits(letter.aggregateType, TEXT_MAX.aggregateType) &&
    fits(letter.aggregateId, TEXT_MAX.aggregateId) &&
    fits(letter.eventType, TEXT_MAX.eventType) &&
    fits(letter.traceId, TEXT_MAX.traceId) &&
    fits(letter.errorCode, TEXT_MAX.errorCode) &&
    fits(letter.contentType, TEXT_MAX.contentType) &&
    fits(error.type, TEXT_MAX.errorType) &&
    fits(error.message, TEXT_MAX.errorMessage) &&
    fits(error.stack, TEXT_MAX.errorStack) &&
    headers.every(isStorableHeader) &&
    areStorableTags(tags) &&
    isStorableJson(origin, 0) &&
    Number.isInteger(letter.attempts) &&
    letter.attempts >= 0 &&
    letter.attempts <= ATTEMPTS_MAX &&
    (letter.failedAtMs === null || isInstant(letter.failedAtMs))
  );
}

function areStorableTags(tags: Record<string, string>): boolean {
  let count = 0;
  for (const name in tags) {
    const value = tags[name]!;
    if (++count > TAGS_MAX || name.length > TEXT_MAX.tagKey || value.length > TEXT_MAX.tagValue) return false;
    if (!isStorableText(name) || !isStorableText(value)) return false;
  }
  return true;
}

function isStorableJson(value: unknown, depth: number): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === JSON_COLUMN_DEPTH_MAX) return false;
  for (const name in value) {
    if (!isStorableText(name) || !isStorableJson((value as Record<string, unknown>)[name], depth + 1)) return false;
  }
  return true;
}

/** A key that is too long keeps its start for a person, and a hash of the whole key keeps it unique. */
function key(text: string, max: number): string {
  const clean = storableText(text);
  return clean.length <= max ? clean : `${clean.slice(0, max - 17).toWellFormed()}~${hash64(clean)}`;
}

function cut(text: string, max: number): string {
  const clean = storableText(text);
  if (clean.length <= max) return clean;
  const mark = ` [cut: ${clean.length} characters]`;
  return clean.slice(0, max - mark.length).toWellFormed() + mark;
}

function isStorableHeader([name, value]: Header): boolean {
  return isStorableText(name) && (value === null || isStorableText(value));
}

/** Text that cannot be stored is kept as bytes: a redrive sends the original. */
function storableHeader(header: Header): Header {
  if (isStorableHeader(header)) return header;
  const [name, value, encoding] = header;
  if (value === null || isStorableText(value)) return [storableText(name), value, encoding ?? "text"];
  const bytes = new TextEncoder().encode(value);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return [storableText(name), btoa(binary), "bytes"];
}

function storableTags(tags: Record<string, string>): Record<string, string> {
  const entries = Object.entries(tags).slice(0, TAGS_MAX);
  return Object.fromEntries(
    entries.map(([name, value]) => [key(name, TEXT_MAX.tagKey), key(value, TEXT_MAX.tagValue)]),
  );
}

/** JSON for a column. Names of fields and answers of others are in it, and not every caller has checked them. */
export function storableJsonText(value: unknown): string {
  return JSON.stringify(isStorableJson(value, 0) ? value : storableJson(value, 0));
}

/** Makes every text in a free-form value storable; a container that is nested too deep is replaced by a note. */
function storableJson(value: unknown, depth: number): unknown {
  if (typeof value === "string") return storableText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === JSON_COLUMN_DEPTH_MAX) return `[cut: nested deeper than ${JSON_COLUMN_DEPTH_MAX}]`;
  if (Array.isArray(value)) return value.map((inner) => storableJson(inner, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [storableText(name), storableJson(inner, depth + 1)]),
  );
}

/** The start of an error for the list: its message, else its type. At most 2 KB of UTF-8. */
export function errorSummary(error: DeadLetter["error"]): string | null {
  const text = error.message || error.type;
  if (!text) return null;
  // A UTF-16 unit becomes at most 3 bytes of UTF-8: a short text needs no measuring.
  if (text.length * 3 <= SUMMARY_BYTES_MAX) return text;
  const buffer = new Uint8Array(SUMMARY_BYTES_MAX - 3);
  const { read, written } = new TextEncoder().encodeInto(text, buffer);
  return read === text.length ? text : `${new TextDecoder().decode(buffer.subarray(0, written))}\u2026`;
}

/** Largest value of an `integer` column. The counters of events stop there, since an overflow would refuse the whole batch. */
export const INT4_MAX = 2_147_483_647;
