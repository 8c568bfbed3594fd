import * as z from "zod/mini";
import { type ArrivalLimits, reject } from "@/lib/intake/arrival.shapes";
import { isArrayAt, isObjectAt, JSON_DEPTH_MAX, type Span, sizeOf } from "@/lib/platform/plain/raw-json.pure";
import { JSON_COLUMN_DEPTH_MAX } from "@/lib/platform/plain/storable.pure";

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

/** That `span` is JSON which others can read. */
export function assertJson(field: string, bytes: Uint8Array, span: Span): void {
  if (sizeOf(bytes, span).depth > JSON_DEPTH_MAX) refuse(field, `is nested deeper than ${JSON_DEPTH_MAX}`);
  parseJson(bytes, span);
}

/** Refuses what would be slow to read or deep to store, before it is read. */
export function assertPlain(field: string, bytes: Uint8Array, span: Span, { headersMax }: ArrivalLimits): void {
  if (!isObjectAt(bytes, span.start) && !isArrayAt(bytes, span.start)) return;
  const { depth, values } = sizeOf(bytes, span);
  if (depth > JSON_COLUMN_DEPTH_MAX) refuse(field, `is nested deeper than ${JSON_COLUMN_DEPTH_MAX}`);
  // A header is a list of up to three texts.
  const valuesMax = VALUES_MAX + headersMax * 4;
  if (values <= valuesMax) return;
  if (field !== "headers") refuse(field, `holds more than ${valuesMax} values`);
  reject({
    code: "too-many-headers",
    field,
    detail: `The event has more than ${headersMax} headers (PARKADE_HEADERS_MAX)`,
  });
}
