import type { DeadLetter, Header, RedriveMark } from "@/lib/core/dead-letter";
import type { ProblemCode } from "@/lib/core/problem";

/** One event of a request, read: on its way into the store, or refused with the field and the fix. */
export type Arrival = { source: string; letter: DeadLetter };
export type Rejection = { code: ProblemCode; detail: string; field?: string };

export type ArrivalLimits = {
  /** Of one decoded payload. */
  payloadBytesMax: number;
  /** Of one event. */
  headersMax: number;
};

/** Thrown while one event is read, caught where its neighbours go on. */
export class Refused extends Error {
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(rejection.detail);
    this.name = "Refused";
    this.rejection = rejection;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

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
  if (!/^-?\d{1,19}$/.test(digits)) return null;
  const version = BigInt(digits);
  return version > VERSION_MAX || version < -VERSION_MAX ? null : version;
}

/** Strict base64 (RFC 4648, section 4): what a lenient decoder would skip is a sign of damage. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  return Buffer.from(text, "base64");
}
