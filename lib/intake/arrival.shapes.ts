import type { DeadLetter, Header, RedriveMark } from "@/lib/intake/dead-letter.pure";
import { isBase64 } from "@/lib/intake/header-fault.pure";
import type { StoredPart } from "@/lib/keep/records/stored-state.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";
import { JsonSyntax, type Member, membersOf, type Span } from "@/lib/platform/plain/raw-json.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/**
 * One event of a request, read: on its way into the store, or refused with the field and the fix. `stored`: it is of an
 * export, and is restored.
 */
export type Arrival = { source: string; letter: DeadLetter; stored?: StoredPart };
export type Rejection = { code: ProblemCode; detail: string; field?: string };

export type ArrivalLimits = {
  /** Of one decoded payload. */
  payloadBytesMax: number;
  /** Of one event. */
  headersMax: number;
};

/** What a line may hold beyond its payload: a stack of a million characters and some. */
const ENVELOPE_BYTES_MAX = 4 * 1024 * 1024;

/** Of one event as it stands in a request: above it, it is refused before it is read. */
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
  const found = headers.find(([name, , encoding]) => name.toLowerCase() === wanted && encoding !== "bytes");
  return found?.[1] ?? null;
}

const VERSION_MAX = 2n ** 63n - 1n;

/** A version of an aggregate from its digits: beyond 2^53 a number would round. null when it is no 64-bit integer. */
export function versionOf(digits: string): bigint | null {
  // To JSON Schema 7.0 is an integer, and some clients write integers so.
  const integer = /^(-?\d{1,19})(?:\.0+)?$/.exec(digits);
  if (!integer) return null;
  const version = BigInt(integer[1]!);
  return version > VERSION_MAX || version < -VERSION_MAX ? null : version;
}

/** Strict base64 (RFC 4648, section 4): what a lenient decoder would skip is a sign of damage. */
export function decodeBase64(text: string): Uint8Array | null {
  return isBase64(text) ? Buffer.from(text, "base64") : null;
}
