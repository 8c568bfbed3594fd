import * as z from "zod/mini";
import type { StoredPart } from "@/lib/intake/stored-state.shapes";
import {
  type DeadLetter,
  type Header,
  type RedriveMark,
  type Unread,
  VERSION_MAX,
} from "@/lib/platform/plain/dead-letter.pure";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";
import {
  isArrayAt,
  isObjectAt,
  JSON_DEPTH_MAX,
  JsonSyntax,
  type Member,
  membersOf,
  type Span,
  sizeOf,
} from "@/lib/platform/plain/raw-json.pure";
import { JSON_COLUMN_DEPTH_MAX } from "@/lib/platform/plain/storable.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/**
 * One event of a request, read: on its way into the store, or refused with the field and the fix. `stored`: it is of an
 * export, and is restored. `storable`: it is known that the store takes all of its texts.
 */
export type Arrival = {
  source: string;
  letter: DeadLetter;
  stored?: StoredPart;
  unread?: Unread;
  storable?: boolean;
};
export type Rejection = { code: ProblemCode; detail: string; field?: string };

export type ArrivalLimits = {
  /** Of one decoded payload. */
  payloadBytesMax: number;
  /** Of one event. */
  headersMax: number;
};

/** What a line may hold beyond its payload: a stack of a million characters and some. */
const ENVELOPE_BYTES_MAX = 4 * 1024 * 1024;

/** Of one event in a request: a larger one is rejected before it is read. */
export function eventBytesMax({ payloadBytesMax }: ArrivalLimits): number {
  return payloadBytesMax * 2 + ENVELOPE_BYTES_MAX;
}

/** Of one event of an export, which holds all of its revisions. */
const RECORD_BYTES_MIN = 16 * 1024 * 1024;

/** The longest line that is read at all. */
export function lineBytesMax(limits: ArrivalLimits): number {
  return Math.max(RECORD_BYTES_MIN, eventBytesMax(limits));
}

/** Thrown inside the reading of one event. No Error: its stack costs more than the refusal. */
class Refused {
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    this.rejection = rejection;
  }
}

/** Ends the reading of this event. */
export function reject(rejection: Rejection): never {
  throw new Refused(rejection);
}

/** Texts of a refusal come from the event as well, and a thousand of them are answered at once. */
const FIELD_CHARS_MAX = 200;
const DETAIL_CHARS_MAX = 500;

export function shortRejection({ code, detail, field }: Rejection): Rejection {
  const cut = (text: string, max: number) => (text.length <= max ? text : `${text.slice(0, max).toWellFormed()}\u2026`);
  const said = { code, detail: cut(detail, DETAIL_CHARS_MAX) };
  return field === undefined ? said : { ...said, field: cut(field, FIELD_CHARS_MAX) };
}

/** The event that `read` reads, or why it is refused, as a value: its neighbours go on. */
export function readOrReject(read: () => Arrival): Arrival | { rejection: Rejection } {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refused) return { rejection: error.rejection };
    if (!(error instanceof JsonSyntax)) throw error;
    const detail = `The event is not JSON: at byte ${error.at}, ${error.message}`;
    return { rejection: { code: "invalid-json", detail } };
  }
}

/** Refuses an event that is too large to be read at once. */
export function assertEventSize(span: Span, bytesMax: number): void {
  if (span.end - span.start <= bytesMax) return;
  reject({ code: "payload-too-large", detail: `The event is larger than ${bytesMax} bytes` });
}

/** Members of one event by name. Which of two with one name counts would be a guess, so they are refused. */
export function membersByName(bytes: Uint8Array, start: number, membersMax: number): Map<string, Member> {
  const members = membersOf(bytes, start, membersMax);
  if (members === null) reject({ code: "invalid-request", detail: `An event has at most ${membersMax} members` });
  const byName = new Map<string, Member>();
  for (const member of members) {
    const field = member.key;
    if (byName.has(field)) reject({ code: "invalid-request", field, detail: `${field} is given twice: give one` });
    byName.set(field, member);
  }
  return byName;
}

/** The mark Parkade put on what it sent; null when there is none, or one that cannot be ours. */
export function redriveMarkOf(headers: readonly Header[]): RedriveMark | null {
  const redriveId = headerText(headers, "x-redrive-id")?.trim() ?? "";
  if (!UUID.test(redriveId)) return null;
  const attempt = Number(headerText(headers, "x-redrive-attempt"));
  return { redriveId: redriveId.toLowerCase(), attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1 };
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}/;

/** The trace id of a W3C `traceparent`, 32 hex digits; null when it is missing or not valid. */
export function traceIdOf(headers: readonly Header[]): string | null {
  return TRACEPARENT.exec(headerText(headers, "traceparent")?.trim().toLowerCase() ?? "")?.[1] ?? null;
}

function headerText(headers: readonly Header[], wanted: string): string | null {
  const found = headers.find(
    ([name, , encoding]) => name.length === wanted.length && name.toLowerCase() === wanted && encoding !== "bytes",
  );
  return found?.[1] ?? null;
}

/** What an invalid version is rejected with. */
export const VERSION_FAULT = "must be a 64-bit integer of at most 2^63 - 2";

/** A version of an aggregate from its digits: beyond 2^53 a number would round. null when it is no integer up to `max`. */
export function versionOf(digits: string, max = VERSION_MAX): bigint | null {
  // To JSON Schema 7.0 is an integer, and some clients write integers so.
  const integer = /^(-?\d{1,19})(?:\.0+)?$/.exec(digits);
  if (!integer) return null;
  const version = BigInt(integer[1]!);
  return version > max || version < -max ? null : version;
}

/** Parts of one event as they are read from its bytes; to be called inside `readOrReject`. */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function refuse(field: string, detail: string): never {
  reject({ code: "invalid-request", field, detail: `${field} ${detail}` });
}

/** `under`: the field that `document` is the value of. */
export function parsed<Schema extends z.ZodMiniType>(
  schema: Schema,
  document: unknown,
  under?: string,
): z.infer<Schema> {
  const result = z.safeParse(schema, document);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const named = (field: string) => [under, field].filter(Boolean).join(".");
  if (issue.code === "unrecognized_keys")
    refuse(named([...issue.path, issue.keys[0]!].join(".")), "is unknown: leave it out");
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], document);
  refuse(named(fieldOf(issue)), value === undefined ? "is missing" : deepest(issue).message);
}

/** Inside a union: the fault of the branch that got furthest. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.map((branch) => branch[0]).find((first) => first !== undefined && first.path.length > 1);
  return inner && inner.code !== "invalid_type" ? inner : issue;
}

function fieldOf(issue: z.core.$ZodIssue): string {
  const path = [...issue.path, ...(deepest(issue) === issue ? [] : deepest(issue).path)];
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index > 0 ? "." : ""}${String(part)}`))
    .join("");
}

/** The value at `span`. Throws Refused for text that is no UTF-8 or no JSON. */
export function parseJson(bytes: Uint8Array, span: Span): unknown {
  return parseText(decode(bytes, span));
}

export function decode(bytes: Uint8Array, span: Span): string {
  try {
    return utf8.decode(bytes.subarray(span.start, span.end));
  } catch {
    reject({ code: "invalid-utf8", detail: "The event is not valid UTF-8" });
  }
}

export function parseText(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    reject({ code: "invalid-json", detail: "The event is not valid JSON" });
  }
}

/** Beside its headers an envelope holds few values: what it costs to read is bounded before it is read. */
const VALUES_MAX = 10_000;

export function assertSize(field: string, payloadBytes: number, payloadBytesMax: number): void {
  if (payloadBytes <= payloadBytesMax) return;
  const detail = `The payload has ${payloadBytes} bytes, the limit is ${payloadBytesMax} (PARKADE_PAYLOAD_BYTES_MAX)`;
  reject({ code: "payload-too-large", field, detail });
}

/** Asserts that other parsers can read the JSON at `span`, too. */
export function assertDepth(field: string, bytes: Uint8Array, span: Span): void {
  if (sizeOf(bytes, span).depth > JSON_DEPTH_MAX) refuse(field, `is nested deeper than ${JSON_DEPTH_MAX}`);
}

/** A header is a list of up to three texts. */
export function envelopeValuesMax({ headersMax }: ArrivalLimits): number {
  return VALUES_MAX + headersMax * 4;
}

/** Refuses what would be slow to read or deep to store, before it is read. */
export function assertPlain(field: string, bytes: Uint8Array, span: Span, limits: ArrivalLimits): void {
  if (!isObjectAt(bytes, span.start) && !isArrayAt(bytes, span.start)) return;
  const { depth, values } = sizeOf(bytes, span);
  if (depth > JSON_COLUMN_DEPTH_MAX) refuse(field, `is nested deeper than ${JSON_COLUMN_DEPTH_MAX}`);
  const valuesMax = envelopeValuesMax(limits);
  if (values <= valuesMax) return;
  if (field !== "headers") refuse(field, `holds more than ${valuesMax} values`);
  reject({
    code: "too-many-headers",
    field,
    detail: `The event has more than ${limits.headersMax} headers (PARKADE_HEADERS_MAX)`,
  });
}
