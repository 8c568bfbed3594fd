import { createHash } from "node:crypto";
import { deriveErrorCode } from "@/lib/brokers/conventions/error-code";
import { ATTEMPTS_MAX, storableText, TAGS_MAX, TEXT_MAX } from "@/lib/platform/plain/storable.pure";

/** The message that failed, as the consumer got it. */
export type FailedMessage = {
  /** The producer's id: Parkade knows a repeat by it. By default a hash of source, type and payload. */
  eventId?: string;
  /** Within which the id is unique, such as the `source` of a CloudEvent. By default it is unique in the source. */
  producer?: string;
  aggregateId?: string;
  aggregateType?: string;
  version?: bigint | number;
  eventType?: string;
  /** Bytes or text as they are, anything else as JSON. */
  payload: unknown;
  contentType?: string;
  /** With those of a redrive (`x-redrive-id`), so that Parkade knows that the event came back. */
  headers?:
    | readonly (readonly [string, string | Uint8Array | null])[]
    | Record<string, string | Uint8Array | null | undefined>;
  /** Deliveries so far, this one included. */
  attempts?: number;
  traceId?: string;
  tags?: Record<string, string>;
  /** The coarse class; by default derived from the error's code, status and name. */
  errorCode?: string;
  /** Where it was read: topic, partition, offset, queue. */
  origin?: Record<string, unknown>;
};

/** One event as POST /api/v1/events takes it, serialised. */
export type ParkEvent = { eventId: string; line: string };

const CAUSES_MAX = 10;
/** Enough for a chain of causes; the server takes more. */
const STACK_CHARS_MAX = 65_536;
const MESSAGE_CHARS_MAX = 8_192;

/** Throws TypeError for a message that cannot be serialised. */
export function parkEvent(
  error: unknown,
  message: FailedMessage,
  { source, nowMs }: { source: string; nowMs: number },
): ParkEvent {
  const all = chainOf(error);
  // The retry engine's own error says how it gave up: not what happened, which its cause says.
  const causes = all.filter(({ gaveUp }) => gaveUp === null);
  const links = causes.length > 0 ? causes : all;
  const wrapper = causes.length > 0 ? (all.find(({ gaveUp }) => gaveUp !== null) ?? null) : null;
  const payload = payloadOf(message);
  const headers = headersOf(message.headers);
  const eventId = cut(message.eventId ?? hashOf(source, message.eventType ?? "", payload.bytes), TEXT_MAX.eventId);
  const event = {
    source,
    eventId,
    producer: message.producer,
    aggregateId: message.aggregateId,
    aggregateType: message.aggregateType,
    version: message.version === undefined ? undefined : String(message.version),
    eventType: message.eventType,
    errorCode: cut(message.errorCode ?? errorCodeOf(links), TEXT_MAX.errorCode),
    error: errorOf(links, wrapper),
    attempts: Math.min(message.attempts ?? attemptsOf(all) ?? 0, ATTEMPTS_MAX),
    traceId: message.traceId ?? traceIdOf(headers),
    failedAt: nowMs,
    ...payload.fields,
    contentType: message.contentType ?? payload.contentType,
    headers,
    tags: tagsOf(message.tags, wrapper),
    origin: message.origin,
  };
  return { eventId, line: JSON.stringify(event) };
}

/** The error and its causes, outermost first. A getter of an error may throw: such a link says nothing. */
type Link = {
  type: string;
  message: string;
  stack: string;
  code: string | null;
  status: number | null;
  attempts: number | null;
  /** Of the retry engine: `budget`, `exhausted`, `deadline`, `breaker-open`, `deferred`, ... null for any other error. */
  gaveUp: string | null;
};

function chainOf(error: unknown): Link[] {
  const seen = new Set<unknown>();
  const links: Link[] = [];
  for (let next = error; links.length < CAUSES_MAX && !seen.has(next); ) {
    seen.add(next);
    links.push(linkOf(next));
    next = read(next, "cause") ?? (read(next, "errors") as unknown[] | undefined)?.[0];
    if (next === undefined || next === null) break;
  }
  return links;
}

function read(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown> | null)?.[name];
  } catch {
    return undefined;
  }
}

function linkOf(error: unknown): Link {
  const name = read(error, "name");
  const type = typeof name === "string" && name !== "" && name !== "Error" ? name : constructorName(error);
  const message = textOf(read(error, "message") ?? error);
  const stack = read(error, "stack");
  const code = read(error, "code");
  const status = read(error, "status") ?? read(error, "statusCode") ?? read(read(error, "response"), "status");
  const attempts = read(error, "attempts") ?? read(read(error, "outcome"), "attempts");
  return {
    type,
    message,
    stack: typeof stack === "string" ? stack : `${type}: ${message}`,
    code: typeof code === "string" ? code : null,
    status: typeof status === "number" ? status : null,
    attempts: typeof attempts === "number" && Number.isInteger(attempts) && attempts >= 0 ? attempts : null,
    gaveUp: type === "OperationError" ? gaveUpOf(read(error, "outcome")) : null,
  };
}

function gaveUpOf(outcome: unknown): string | null {
  const kind = read(outcome, "kind");
  const reason = kind === "failed" ? read(outcome, "reason") : kind;
  return typeof reason === "string" ? reason : null;
}

function constructorName(error: unknown): string {
  const name = read(read(error, "constructor"), "name");
  return error instanceof Error && typeof name === "string" && name !== "" ? name : "Error";
}

function textOf(value: unknown): string {
  try {
    return typeof value === "string" ? value : String(value);
  } catch {
    return "an error without a text";
  }
}

function errorOf(links: readonly Link[], wrapper: Link | null) {
  const { type, message, status } = links[0]!;
  const stacks = links.map(({ stack }, at) => (at === 0 ? stack : `Caused by: ${stack}`));
  if (wrapper !== null) stacks.push(`Given up by: ${wrapper.stack}`);
  const unsaid = status !== null && !message.includes(String(status));
  return {
    type: cut(type, TEXT_MAX.errorType),
    message: cut(unsaid ? `${message} (HTTP ${status})` : message, MESSAGE_CHARS_MAX),
    stack: cut(stacks.join("\n"), STACK_CHARS_MAX),
  };
}

const TIMEOUT_CODES = new Set(["ETIMEDOUT", "ESOCKETTIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT"]);
const CONNECTION_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_SOCKET"]);
/** A word of a service of its own, such as VERSION_CONFLICT; codes of Node begin with E or ERR_. */
const OWN_CODE = /^(?!ERR_|UND_ERR_|E[A-Z]+$)[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/;

/** By code and type along the chain, never by message text. */
function errorCodeOf(links: readonly Link[]): string {
  for (const { code, status: given } of links) {
    if (code !== null && (TIMEOUT_CODES.has(code) || code.startsWith("TIMEOUT_"))) return "TIMEOUT";
    if (code !== null && CONNECTION_CODES.has(code)) return "CONNECTION_ERROR";
    // A code such as HTTP_503 is a status, and belongs to its family.
    const named = /^HTTP_(\d{3})$/.exec(code ?? "")?.[1];
    const status = given ?? (named === undefined ? null : Number(named));
    if (code !== null && named === undefined && OWN_CODE.test(code)) return code;
    if (status !== null && status >= 400 && status < 600) return status >= 500 ? "UPSTREAM_5XX" : "UPSTREAM_4XX";
  }
  // The table has the names of other languages for these two.
  const types = links.map(({ type }) =>
    type === "SyntaxError" ? "JsonParseError" : type === "ZodError" ? "ValidationError" : type,
  );
  return deriveErrorCode(types, null);
}

function attemptsOf(links: readonly Link[]): number | null {
  return links.find(({ attempts }) => attempts !== null)?.attempts ?? null;
}

type Payload = { bytes: Uint8Array | string; fields: object; contentType?: string };

function payloadOf({ payload }: FailedMessage): Payload {
  if (payload instanceof Uint8Array || typeof payload === "string") {
    const bytes = Buffer.from(payload as Uint8Array);
    return {
      bytes,
      fields: { payloadBase64: bytes.toString("base64") },
      contentType: typeof payload === "string" ? "text/plain; charset=utf-8" : undefined,
    };
  }
  const text = JSON.stringify(payload);
  if (text === undefined) throw new TypeError("payload is undefined or a function: give bytes, text or JSON");
  return { bytes: text, fields: { payload } };
}

type Header = [string, string | null] | [string, string, "bytes"];

function headersOf(headers: FailedMessage["headers"]): Header[] | undefined {
  if (headers === undefined) return undefined;
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  return pairs.flatMap(([name, value]): Header[] => {
    if (value === undefined) return [];
    if (value instanceof Uint8Array) return [[storableText(name), Buffer.from(value).toString("base64"), "bytes"]];
    return [[storableText(name), value === null ? null : storableText(value)]];
  });
}

/** Of a W3C traceparent: `00-<trace id>-<span id>-<flags>`. */
function traceIdOf(headers: readonly Header[] | undefined): string | undefined {
  const header = headers?.find(([name]) => name.toLowerCase() === "traceparent");
  const text = header?.[2] === "bytes" ? Buffer.from(header[1] ?? "", "base64").toString() : header?.[1];
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-/.exec(text ?? "")?.[1];
}

/** Beside the tags of the service: how the engine gave up. Not in the message, by which failures are grouped. */
const GAVE_UP_TAG = "gave-up";

function tagsOf(tags: Record<string, string> | undefined, wrapper: Link | null): Record<string, string> | undefined {
  if (tags === undefined && wrapper === null) return undefined;
  const gaveUp = wrapper === null ? {} : { [GAVE_UP_TAG]: wrapper.gaveUp! };
  return Object.fromEntries(
    Object.entries({ ...tags, ...gaveUp, ...tags })
      .slice(0, TAGS_MAX)
      .map(([name, value]) => [cut(name, TEXT_MAX.tagKey), cut(value, TEXT_MAX.tagValue)]),
  );
}

function cut(text: string, max: number): string {
  return storableText(text.length <= max ? text : text.slice(0, max));
}

function hashOf(source: string, eventType: string, payload: Uint8Array | string): string {
  return `sha256-${createHash("sha256").update(`${source}\0${eventType}\0`).update(payload).digest("hex")}`;
}
