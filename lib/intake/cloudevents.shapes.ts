import * as z from "zod/mini";
import { ATTRIBUTE_NAME, HTTP_PREFIX, KNATIVE_ERROR, knativeFailure } from "@/lib/brokers/conventions/cloudevents.pure";
import {
  type Arrival,
  assertDepth,
  assertEventSize,
  assertPlain,
  assertSize,
  eventBytesMax,
  membersByName,
  parseJson,
  redriveMarkOf,
  reject,
  traceIdOf,
  VERSION_FAULT,
  versionOf,
} from "@/lib/intake/arrival.shapes";
import type { ReadOptions } from "@/lib/intake/event-in.shapes";
import { described, named } from "@/lib/platform/api/schemas.shapes";
import { type DeadLetter, type Header, readFailedAt } from "@/lib/platform/plain/dead-letter.pure";
import { decodeBase64 } from "@/lib/platform/plain/header-fault.pure";
import { isObjectAt, isTextAt, type Member, type Span } from "@/lib/platform/plain/raw-json.pure";
import { ATTEMPTS_MAX, isStorableText, TEXT_MAX, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";

/**
 * CloudEvents 1.0 (https://github.com/cloudevents/spec) over HTTP: structured, binary, and batches of structured ones.
 *
 * | our fact | attribute |
 * |---|---|
 * | eventId | `id` |
 * | producer | `source`: an id is unique within it |
 * | eventType | `type` |
 * | source | query `?source=` or header `x-parkade-source`; else `parkadesource`; else `source` when a source has its name |
 * | errorCode | `errorcode`, else of `knativeerrorcode`; else query `?errorCode=`; else UNKNOWN |
 * | error | `errortype`, `errormessage` (else of `knativeerrordata`), `errorstack` |
 * | aggregateId | `aggregateid`, else `partitionkey`, else `subject` |
 * | aggregateType, version | `aggregatetype`, `aggregateversion` |
 * | attempts, failedAt | `attempts`, `failedat` (see `instantMs`) |
 * | traceId | `traceid`, else of `traceparent` |
 *
 * The other attributes are kept as binary-mode headers (`ce-id` ...), so that a redrive delivers a CloudEvent again.
 * A redrive marks itself with `x-redrive-id`; a CloudEvent brings it back as that header or as `redriveid`.
 */

type Attributes = Map<string, string>;

/** Attributes of the failure, not of the event: a redrive leaves them out and sends the event as its producer did. */
const ABOUT_THE_FAILURE = new Set([
  "errorcode",
  "errortype",
  "errormessage",
  "errorstack",
  "attempts",
  "failedat",
  "parkadesource",
  "redriveid",
  "redriveattempt",
  ...Object.values(KNATIVE_ERROR),
]);

/** Of a CloudEvent that does not say why it was parked, as dead letter sinks write them. */
const UNKNOWN_ERROR = "UNKNOWN";

const attribute = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));
const optionalAttribute = (max: number) => z.optional(z.nullable(z.string().check(z.maxLength(max))));
/** RFC 3339 by the specification, but no dead letter is refused for its time. */
const time = optionalAttribute(TEXT_MAX.traceId);

/** A structured CloudEvent as clients send it, for the API's document: `readStructured` reads it from the bytes. */
export const cloudEventSchema = named(
  "CloudEvent",
  z.object({
    specversion: z.literal("1.0"),
    id: attribute(TEXT_MAX.eventId),
    source: attribute(TEXT_MAX.sourceName),
    type: attribute(TEXT_MAX.eventType),
    errorcode: described(
      optionalAttribute(TEXT_MAX.errorCode),
      "Else HTTP_ and the status in knativeerrorcode, else the errorCode of the query, else UNKNOWN",
    ),
    parkadesource: optionalAttribute(TEXT_MAX.sourceName),
    aggregateid: optionalAttribute(TEXT_MAX.aggregateId),
    aggregatetype: optionalAttribute(TEXT_MAX.aggregateType),
    aggregateversion: z.optional(z.int()),
    attempts: z.optional(z.int().check(z.gte(0), z.lte(ATTEMPTS_MAX))),
    time,
    failedat: time,
    data: z.optional(z.unknown()),
  }),
  {
    specversion: "1.0",
    id: "order-77-v3",
    source: "orders",
    type: "OrderShipped",
    errorcode: "TIMEOUT",
    aggregateid: "order-77",
    data: { orderId: 77 },
  },
);
z.globalRegistry.add(cloudEventSchema, {
  ...z.globalRegistry.get(cloudEventSchema),
  propertyNames: { pattern: ATTRIBUTE_NAME.source },
  additionalProperties: { type: ["string", "boolean"], maxLength: TEXT_MAX.traceId },
});

/** `source`: as the request says; null = look at the event. `errorCode`: of events that name none; null = UNKNOWN. */
export type CloudEventOptions = Omit<ReadOptions, "defaultSource"> & {
  source: string | null;
  errorCode: string | null;
};

/** True when the request carries a CloudEvent in its headers. All four required attributes may still not be there. */
export function isBinaryMode(headers: Headers): boolean {
  return headers.has("ce-specversion") || (headers.has("ce-id") && headers.has("ce-type"));
}

/** Attributes that are no headers of the event: of the failure, and the data itself. */
const FURTHER_MEMBERS = 32;

/** A structured CloudEvent at `span`; to be called inside `readOrReject`. */
export function readStructured(bytes: Uint8Array, span: Span, options: CloudEventOptions): Arrival {
  assertEventSize(span, eventBytesMax(options));
  if (!isObjectAt(bytes, span.start)) malformed("body", "must be a JSON object");
  const members = membersByName(bytes, span.start, options.headersMax + FURTHER_MEMBERS);
  const attributes: Attributes = new Map();
  for (const [name, member] of members) {
    if (name === "data" || name === "data_base64") continue;
    assertPlain(name, bytes, member, options);
    const value = parseJson(bytes, member);
    if (value !== null) attributes.set(name, attributeText(name, value));
  }
  const body = readData(bytes, members, attributes.get("datacontenttype") ?? null, options);
  return arrival({ attributes, body, carried: [], options });
}

/** A CloudEvent whose attributes are the request's headers and whose data is its body; to be called inside `readOrReject`. */
export function readBinary(headers: Headers, payload: Uint8Array, options: CloudEventOptions): Arrival {
  const attributes: Attributes = new Map();
  const carried: Header[] = [];
  for (const [name, value] of headers) {
    if (name.startsWith(HTTP_PREFIX)) attributes.set(name.slice(HTTP_PREFIX.length), decodeHeader(name, value));
    else if (isCarried(name)) carried.push([name, value]);
  }
  assertSize("body", payload.byteLength, options.payloadBytesMax);
  const contentType = headers.get("content-type") ?? attributes.get("datacontenttype") ?? "application/octet-stream";
  return arrival({ attributes, body: { payload, contentType }, carried, options });
}

/** Headers of the request that belong to the event: its trace, and our own mark when it comes back. */
function isCarried(name: string): boolean {
  return name === "traceparent" || name === "tracestate" || name === "baggage" || name.startsWith("x-redrive-");
}

function malformed(field: string, detail: string): never {
  reject({ code: "invalid-cloudevent", field, detail: `${field} ${detail}` });
}

function attributeText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  if (name === "time" || name === "failedat") return JSON.stringify(value);
  malformed(name, "must be text, a whole number or a boolean");
}

/**
 * One header value as an attribute: unquoted, then percent-decoded once (HTTP binding, section 3.1.3.2). A percent sign
 * that starts no escape stands for itself.
 */
export function decodeHeader(name: string, value: string): string {
  const unquoted = /^".*"$/s.test(value) ? value.slice(1, -1).replace(/\\(.)/gs, "$1") : value;
  try {
    return decodeURIComponent(unquoted.replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    malformed(name, "is not UTF-8 after percent-decoding");
  }
}

/** The reverse: space, double quote, percent and everything outside printable ASCII is escaped. */
export function encodeHeader(value: string): string {
  return value.replace(/[^\x21-\x7e]|["%]/gu, (character) =>
    Array.from(
      new TextEncoder().encode(character),
      (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    ).join(""),
  );
}

type Body = { payload: Uint8Array; contentType: string };

/** JSON data are the bytes that stand in the request; text of another media type is the text itself. */
function readData(
  bytes: Uint8Array,
  members: Map<string, Member>,
  contentType: string | null,
  { payloadBytesMax }: CloudEventOptions,
): Body {
  const data = members.get("data");
  const base64 = members.get("data_base64");
  if (data && base64) malformed("data", "and data_base64 are both given: give one");
  if (base64) {
    const text = parseJson(bytes, base64);
    const payload = typeof text === "string" ? decodeBase64(text) : null;
    if (payload === null) malformed("data_base64", "must be base64 text");
    return { payload, contentType: contentType ?? "application/octet-stream" };
  }
  if (!data) return { payload: new Uint8Array(), contentType: contentType ?? "application/json" };
  if (contentType !== null && !isJson(contentType) && isTextAt(bytes, data.start)) {
    return { payload: new TextEncoder().encode(parseJson(bytes, data) as string), contentType };
  }
  assertSize("data", data.end - data.start, payloadBytesMax);
  assertDepth("data", bytes, data);
  parseJson(bytes, data);
  return { payload: bytes.subarray(data.start, data.end), contentType: contentType ?? "application/json" };
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(contentType);
}

type Parts = { attributes: Attributes; body: Body; carried: Header[]; options: CloudEventOptions };

function arrival({ attributes, body, carried, options }: Parts): Arrival {
  assertAttributes(attributes);
  assertSize("data", body.payload.byteLength, options.payloadBytesMax);
  const headers: Header[] = [];
  for (const [name, value] of attributes) {
    if (!ABOUT_THE_FAILURE.has(name) && name !== "datacontenttype")
      headers.push([`${HTTP_PREFIX}${name}`, encodeHeader(value)]);
  }
  headers.push(...carried);
  if (headers.length > options.headersMax) {
    const detail = `The event has ${headers.length} attributes and headers, the limit is ${options.headersMax} (PARKADE_HEADERS_MAX)`;
    reject({ code: "too-many-headers", field: "attributes", detail });
  }
  const named = (header: string, attribute: string): Header[] =>
    attributes.has(attribute) ? [[header, attributes.get(attribute)!]] : [];
  const text = (name: string, max: number) => bounded(name, attributes.get(name), max);
  const { failedAtMs, ...unread } = readFailedAt(attributes.get("failedat"));
  const knative = knativeFailure(attributes);
  const letter: DeadLetter = {
    eventId: text("id", TEXT_MAX.eventId)!,
    producer: attributes.get("source"),
    aggregateType: text("aggregatetype", TEXT_MAX.aggregateType),
    aggregateId:
      text("aggregateid", TEXT_MAX.aggregateId) ??
      text("partitionkey", TEXT_MAX.aggregateId) ??
      text("subject", TEXT_MAX.aggregateId),
    version: versionAttribute(attributes),
    eventType: text("type", TEXT_MAX.eventType),
    traceId: text("traceid", TEXT_MAX.traceId) ?? traceIdOf([...carried, ...named("traceparent", "traceparent")]),
    errorCode: text("errorcode", TEXT_MAX.errorCode) ?? knative.errorCode ?? options.errorCode ?? UNKNOWN_ERROR,
    error: {
      type: text("errortype", TEXT_MAX.errorType),
      message: text("errormessage", TEXT_MAX.errorMessage) ?? knative.message,
      stack: text("errorstack", TEXT_MAX.errorStack),
    },
    attempts: attemptsAttribute(attributes),
    failedAtMs,
    payload: body.payload,
    contentType: bounded("datacontenttype", body.contentType, TEXT_MAX.contentType)!,
    headers,
    tags: {},
    origin: {
      convention: "cloudevents",
      properties: {
        source: attributes.get("source"),
        time: attributes.get("time"),
        [KNATIVE_ERROR.destination]: attributes.get(KNATIVE_ERROR.destination),
      },
      ...unread,
    },
    redrive: redriveMarkOf([
      ...carried,
      ...named("x-redrive-id", "redriveid"),
      ...named("x-redrive-attempt", "redriveattempt"),
    ]),
  };
  const source = options.source ?? attributes.get("parkadesource") ?? attributes.get("source")!;
  return { source: bounded("source", source, TEXT_MAX.sourceName)!, letter, ...unread };
}

function assertAttributes(attributes: Attributes): void {
  for (const [name, value] of attributes) {
    if (!ATTRIBUTE_NAME.test(name)) malformed(name, "is not an attribute name: use lower-case letters and digits");
    if (!isStorableText(value)) malformed(name, UNSTORABLE_TEXT);
  }
  for (const name of ["specversion", "id", "source", "type"]) {
    if (!attributes.get(name)) malformed(name, "is missing: a CloudEvent has specversion, id, source and type");
  }
  if (attributes.get("specversion") !== "1.0") malformed("specversion", 'must be "1.0"');
}

/** Empty text is no fact. */
function bounded(name: string, value: string | undefined, max: number): string | null {
  if (!value) return null;
  if (value.length > max) malformed(name, `has more than ${max} characters`);
  return value;
}

function versionAttribute(attributes: Attributes): bigint | null {
  const digits = attributes.get("aggregateversion");
  if (digits === undefined) return null;
  const version = versionOf(digits);
  if (version === null) malformed("aggregateversion", VERSION_FAULT);
  return version;
}

function attemptsAttribute(attributes: Attributes): number {
  const digits = attributes.get("attempts") ?? "0";
  if (!/^\d{1,9}$/.test(digits) || Number(digits) > ATTEMPTS_MAX) {
    malformed("attempts", `must be a whole number of at most ${ATTEMPTS_MAX}`);
  }
  return Number(digits);
}
