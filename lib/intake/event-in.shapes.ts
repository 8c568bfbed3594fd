import * as z from "zod/mini";
import {
  type Arrival,
  type ArrivalLimits,
  assertDepth,
  assertEventSize,
  assertPlain,
  assertSize,
  decode,
  envelopeValuesMax,
  eventBytesMax,
  lineBytesMax,
  membersByName,
  parsed,
  parseJson,
  parseText,
  redriveMarkOf,
  refuse,
  reject,
  traceIdOf,
  VERSION_FAULT,
  versionOf,
} from "@/lib/intake/arrival.shapes";
import { HEADER_MAX, isPlainEnvelope } from "@/lib/intake/plain-envelope.pure";
import {
  contradictionOf,
  EXPORTED_AS_STORED,
  type StoredPart,
  storedStateSchema,
} from "@/lib/intake/stored-state.shapes";
import { queryOf } from "@/lib/platform/api/query.shapes";
import { described, has } from "@/lib/platform/api/schemas.shapes";
import {
  type DeadLetter,
  type DeadLetterError,
  type Header,
  readFailedAt,
  VERSION_MAX,
} from "@/lib/platform/plain/dead-letter.pure";
import { decodeBase64 } from "@/lib/platform/plain/header-fault.pure";
import { MemberScan } from "@/lib/platform/plain/member-scan.pure";
import {
  isObjectAt,
  JSON_DEPTH_MAX,
  type Member,
  type Span,
  sizeOf,
  skipSpace,
} from "@/lib/platform/plain/raw-json.pure";
import {
  ATTEMPTS_MAX,
  isStorableText,
  JSON_COLUMN_DEPTH_MAX,
  TAGS_MAX,
  TEXT_MAX,
  UNSTORABLE_TEXT,
} from "@/lib/platform/plain/storable.pure";

/**
 * One event of our own JSON:
 *
 *     { source, eventId, producer?, aggregateId?, aggregateType?, version?, eventType?, errorCode,
 *       error?: { type, message, stack }, attempts?, traceId?, failedAt?,
 *       payload (any JSON) | payloadBase64, contentType?, headers?: [[name, value]] | {}, tags?: {}, origin?: {} }
 *
 * `payload` is stored as the very bytes that stand in the request, whatever `contentType` says; bytes that are no JSON
 * go as `payloadBase64`. A line of an export has a further member, `stored`: see `lib/intake/stored-state.shapes.ts`.
 */

function text(max: number) {
  return z
    .string("must be text")
    .check(
      z.minLength(1, "must not be empty"),
      z.maxLength(max, `at most ${max} characters`),
      z.refine(isStorableText, UNSTORABLE_TEXT),
    );
}

/** As `text`, but empty is fine. */
function freeText(max: number) {
  return z
    .string("must be text")
    .check(z.maxLength(max, `at most ${max} characters`), z.refine(isStorableText, UNSTORABLE_TEXT));
}

const headerName = text(HEADER_MAX.name);
const headerValue = z.nullable(freeText(HEADER_MAX.value));
const encoding = z.enum(["text", "bytes", "amqp"], "must be text, bytes or amqp");

const headersSchema = z.union(
  [
    z.array(
      z.union(
        [z.tuple([headerName, headerValue]), z.tuple([headerName, headerValue, encoding])],
        "must be [name, value] with text or null as value",
      ),
    ),
    z.record(headerName, headerValue),
  ],
  "must be a list of [name, value], or an object of texts",
);

const errorSchema = z.strictObject({
  type: z.nullish(freeText(TEXT_MAX.errorType)),
  message: z.nullish(freeText(TEXT_MAX.errorMessage)),
  stack: z.nullish(freeText(TEXT_MAX.errorStack)),
});

/** Any value, since no dead letter is refused for its time: see `readFailedAt`. */
const failedAt = z.optional(z.unknown()).register(z.globalRegistry, {
  description:
    "When it last failed: ISO 8601, RFC 3339, the date of HTTP and e-mail, or a number of seconds or milliseconds since 1970, also as text. A value that is not a time is kept in `origin.unread` and listed in the answer",
  anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }],
  examples: ["2026-11-20T09:41:00Z", 1_795_167_660],
});

/** Read from the bytes of the request, past the schema: these are their forms for clients. */
const readVersionText = z.optional(z.unknown()).register(z.globalRegistry, {
  anyOf: [
    { type: "integer", minimum: 0, maximum: 2 ** 53 },
    { type: "string", pattern: "^[0-9]{1,18}$" },
  ],
});
const readBase64Text = z.optional(z.unknown()).register(z.globalRegistry, {
  type: "string",
  contentEncoding: "base64",
  pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
});

/** Everything but `payload`, `payloadBase64`, `version` and `stored`, which are read from the text itself. */
const eventInSchema = z.strictObject({
  source: z.optional(text(TEXT_MAX.sourceName)),
  eventId: text(TEXT_MAX.eventId),
  producer: described(
    z.nullish(text(TEXT_MAX.producer)),
    "The scope within which the eventId is unique, such as the source of a CloudEvent. Default: the source",
  ),
  aggregateId: z.nullish(text(TEXT_MAX.aggregateId)),
  aggregateType: z.nullish(text(TEXT_MAX.aggregateType)),
  version: readVersionText,
  eventType: z.nullish(text(TEXT_MAX.eventType)),
  errorCode: text(TEXT_MAX.errorCode),
  error: z.nullish(errorSchema),
  attempts: z.nullish(
    z
      .int("must be a whole number")
      .check(z.gte(0, "must not be negative"), z.lte(ATTEMPTS_MAX, `must be at most ${ATTEMPTS_MAX}`)),
  ),
  traceId: z.nullish(text(TEXT_MAX.traceId)),
  failedAt,
  payload: z.optional(z.unknown()),
  payloadBase64: readBase64Text,
  contentType: z.nullish(text(TEXT_MAX.contentType)),
  headers: z.nullish(headersSchema),
  tags: z.nullish(z.record(text(TEXT_MAX.tagKey), freeText(TEXT_MAX.tagValue))),
  origin: z.nullish(z.record(z.string(), z.unknown())),
  stored: z.optional(storedStateSchema),
});
type EventIn = z.infer<typeof eventInSchema>;

/** An event that has `stored`. */
const exportedSchema = z.extend(eventInSchema, EXPORTED_AS_STORED);

/** `source` may be missing when the query names one; there is one payload, in one of two ways. */
z.globalRegistry.add(eventInSchema, {
  id: "EventIn",
  required: ["source", "eventId", "errorCode"],
  oneOf: ["payload", "payloadBase64"].map(has),
  examples: [
    {
      source: "orders",
      eventId: "order-77-v3",
      aggregateId: "order-77",
      aggregateType: "order",
      version: 3,
      errorCode: "TIMEOUT",
      error: { type: "TimeoutException", message: "stock service did not answer within 2000 ms" },
      payload: { orderId: 77 },
      tags: { orderId: "77" },
    },
  ],
});

/** The JSON forms of POST /api/v1/events, for the API's document: `ingest` reads them from the bytes. */
export const ingestSchema = z.union([
  eventInSchema,
  z.array(eventInSchema),
  z.object({ events: z.array(eventInSchema) }),
]);

export const ingestQuery = queryOf({
  source: described(z.optional(z.string()), "Source of events that name none"),
  errorCode: described(
    z.optional(text(TEXT_MAX.errorCode)),
    "Error code of CloudEvents that name none; default UNKNOWN",
  ),
});

/** `storedValuesMax`: of `stored`, default STORED_VALUES_MAX. */
export type ReadOptions = ArrivalLimits & { defaultSource: string | null; storedValuesMax?: number };

/** More than an event has names: an object with more members is no event. */
const MEMBERS_MAX = 64;
/** Reads the event that stands at `span`; to be called inside `readOrReject`. */
export function readEventIn(bytes: Uint8Array, span: Span, options: ReadOptions): Arrival {
  return readPlainEvent(bytes, span, options) ?? readByMembers(bytes, span, options);
}

const scan = new MemberScan(
  Object.keys(eventInSchema.shape).filter((name) => name !== "stored"),
  "payload",
);

/**
 * The event at `span`, in one pass over its bytes, when it is plain: see `MemberScan` and `isPlainEnvelope`. null decides nothing:
 * `readEventIn` reads the event member by member, and words the error.
 */
export function readPlainEvent(bytes: Uint8Array, span: Span, options: ReadOptions): Arrival | null {
  const { start, end } = span;
  if (end - start > eventBytesMax(options) || !isObjectAt(bytes, start) || !scan.read(bytes, start, end)) return null;
  if (skipSpace(bytes, scan.end, end) < end) return null;
  // As `assertBody` and `assertPlain` bound them.
  if (scan.bodyDepth > JSON_DEPTH_MAX || scan.depth > JSON_COLUMN_DEPTH_MAX) return null;
  if (scan.values > envelopeValuesMax(options)) return null;
  const [json, base64, version] = [scan.spanOf("payload"), scan.spanOf("payloadBase64"), scan.spanOf("version")];
  const storable = !scan.hasNumberedEscape;
  try {
    if (json) assertSize("payload", json.end - json.start, options.payloadBytesMax);
    const document = parseJson(bytes, { start, end: scan.end }) as EventIn;
    if (!isPlainEnvelope(document)) return null;
    const body = readPayload(bytes, { json, base64 }, options, true);
    const arrival = arrivalOf(document, { bytes, body, version }, options);
    arrival.storable = storable;
    return arrival;
  } catch {
    return null;
  }
}

/** Reads an event of any form; to be called inside `readOrReject`. */
export function readByMembers(bytes: Uint8Array, span: Span, options: ReadOptions): Arrival {
  assertEventSize(span, lineBytesMax(options));
  if (!isObjectAt(bytes, span.start)) reject({ code: "invalid-request", detail: "An event is an object" });
  const members = membersByName(bytes, span.start, MEMBERS_MAX);
  const stored = members.get("stored");
  if (!stored) assertEventSize(span, eventBytesMax(options));
  const body = readPayload(bytes, { json: members.get("payload"), base64: members.get("payloadBase64") }, options);
  const event = parseEnvelope(bytes, members, options);
  const parts = { bytes, body, version: members.get("version"), exported: stored !== undefined };
  const { source, letter, unread } = arrivalOf(event, parts, options);
  if (!stored) return unread ? { source, letter, unread } : { source, letter };
  const origin = members.get("origin");
  const originText = event.origin && origin ? decode(bytes, origin) : "{}";
  return { source, letter, stored: readStored(bytes, stored, { originText, valuesMax: options.storedValuesMax }) };
}

type Parts = { bytes: Uint8Array; body: Body; version: Span | undefined; exported?: boolean };

function arrivalOf(event: EventIn, { bytes, body, version, exported = false }: Parts, options: ReadOptions): Arrival {
  const source = event.source ?? options.defaultSource;
  if (source === null) refuse("source", "is missing: name the source this event comes from");
  const headers = readHeaders(event.headers, options.headersMax);
  const { failedAtMs, ...unread } = readFailedAt(event.failedAt);
  const letter: DeadLetter = {
    eventId: event.eventId,
    ...(event.producer ? { producer: event.producer } : {}),
    aggregateType: event.aggregateType ?? null,
    aggregateId: event.aggregateId ?? null,
    // Releases that accepted one more version have archived it.
    version: readVersion(bytes, version, exported ? VERSION_MAX + 1n : VERSION_MAX),
    eventType: event.eventType ?? null,
    traceId: event.traceId ?? (exported ? null : traceIdOf(headers)),
    errorCode: event.errorCode,
    error: readError(event.error),
    attempts: event.attempts ?? 0,
    failedAtMs,
    payload: body.payload,
    contentType: event.contentType ?? body.contentType,
    headers,
    tags: readTags(event.tags),
    origin: { convention: "http", ...event.origin, ...unread },
    redrive: redriveMarkOf(headers),
  };
  return { source, letter, ...unread };
}

const READ_FROM_TEXT = new Set(["payload", "payloadBase64", "version", "stored"]);

function parseEnvelope(bytes: Uint8Array, members: Map<string, Member>, limits: ArrivalLimits): EventIn {
  const document: Record<string, unknown> = {};
  for (const [name, member] of members) {
    if (!Object.hasOwn(eventInSchema.shape, name)) refuse(name, "is unknown: leave it out");
    if (READ_FROM_TEXT.has(name)) continue;
    assertPlain(name, bytes, member, limits);
    document[name] = parseJson(bytes, member);
  }
  return members.has("stored") ? parsed(exportedSchema, document) : parsed(eventInSchema, document);
}

function assertBody(bytes: Uint8Array, json: Span, { payloadBytesMax }: ArrivalLimits): void {
  assertSize("payload", json.end - json.start, payloadBytesMax);
  assertDepth("payload", bytes, json);
}

type Body = { payload: Uint8Array; contentType: string };

type Given = { json: Span | undefined; base64: Span | undefined };

/** `checked`: it is known that a JSON payload can be stored and read. */
function readPayload(bytes: Uint8Array, { json, base64 }: Given, limits: ArrivalLimits, checked = false): Body {
  const { payloadBytesMax } = limits;
  if (json && base64) refuse("payload", "and payloadBase64 are both given: give one");
  if (json) {
    if (!checked) {
      assertBody(bytes, json, limits);
      parseJson(bytes, json);
    }
    return { payload: bytes.subarray(json.start, json.end), contentType: "application/json" };
  }
  if (!base64) refuse("payload", "is missing: give payload, or payloadBase64 with contentType");
  assertSize("payloadBase64", Math.floor(((base64.end - base64.start - 2) / 4) * 3) - 2, payloadBytesMax);
  const value = parseJson(bytes, base64);
  const payload = typeof value === "string" ? decodeBase64(value) : null;
  if (payload === null) refuse("payloadBase64", "must be base64 text");
  assertSize("payloadBase64", payload.byteLength, payloadBytesMax);
  return { payload, contentType: "application/octet-stream" };
}

/** From the digits in the text: as a number it would be rounded beyond 2^53. Text is taken as well. */
function readVersion(bytes: Uint8Array, member: Span | undefined, max: bigint): bigint | null {
  if (!member) return null;
  const raw = decode(bytes, member);
  if (raw === "null") return null;
  return versionOf(raw.replace(/^"|"$/g, ""), max) ?? refuse("version", VERSION_FAULT);
}

function readError(error: EventIn["error"]): DeadLetterError {
  return { type: error?.type ?? null, message: error?.message ?? null, stack: error?.stack ?? null };
}

function readHeaders(given: EventIn["headers"], headersMax: number): Header[] {
  const headers: Header[] = Array.isArray(given) ? given : Object.entries(given ?? {});
  if (headers.length <= headersMax) return headers;
  const detail = `The event has ${headers.length} headers, the limit is ${headersMax} (PARKADE_HEADERS_MAX)`;
  reject({ code: "too-many-headers", field: "headers", detail });
}

function readTags(tags: EventIn["tags"]): Record<string, string> {
  const given = tags ?? {};
  if (Object.keys(given).length > TAGS_MAX) refuse("tags", `has more than ${TAGS_MAX} keys`);
  return given;
}

/** Revisions of one event with their headers hold more values than an envelope. */
const STORED_VALUES_MAX = 100_000;

type StoredOptions = { originText: string; valuesMax: number | undefined };

/** What a line of an export holds beside its event, at `span`; to be called inside `readOrReject`. */
function readStored(
  bytes: Uint8Array,
  span: Span,
  { originText, valuesMax = STORED_VALUES_MAX }: StoredOptions,
): StoredPart {
  const { depth, values } = sizeOf(bytes, span);
  // Its JSON columns lie in lists of it.
  if (depth > JSON_COLUMN_DEPTH_MAX + 3) refuse("stored", `is nested deeper than ${JSON_COLUMN_DEPTH_MAX + 3}`);
  if (values > valuesMax) refuse("stored", `holds more than ${valuesMax} values`);
  const text = decode(bytes, span);
  const state = parsed(storedStateSchema, parseText(text), "stored");
  const contradiction = contradictionOf(state);
  if (contradiction !== null) refuse(`stored.${contradiction.field}`, contradiction.detail);
  return { state, text, originText };
}
