import { randomBytes } from "node:crypto";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import {
  furtherMarks,
  isRedriveHeader,
  REDRIVE_ATTEMPT,
  REDRIVE_FROM,
  REDRIVE_ID,
  RETRY_COUNT,
} from "@/lib/brokers/conventions/redrive-mark";
import { traceIdOf } from "@/lib/brokers/conventions/trace";
import { asCloudEvent } from "@/lib/brokers/http/cloud-event-form";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import {
  signatureHeaders,
  WEBHOOK_ID,
  WEBHOOK_SIGNATURE,
  WEBHOOK_TIMESTAMP,
  webhookIdOf,
} from "@/lib/brokers/http/request-signature";
import { textOrNull } from "@/lib/brokers/message";
import { quotedName } from "@/lib/brokers/outbound-headers";
import type { OutboundMessage, ParkedHeaders } from "@/lib/brokers/port";
import { type Header, headerText, identityOf } from "@/lib/platform/plain/dead-letter.pure";
import { httpName } from "@/lib/platform/plain/header-fault.pure";

/** Belong to one connection (RFC 9110, section 7.6.1), to the body's length, or are set anew below. */
const NOT_FORWARDED = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "host",
  "content-length",
  "content-type",
  "idempotency-key",
  "traceparent",
  "accept-encoding",
]);
const CREDENTIALS = new Set(["authorization", "cookie", "proxy-authorization"]);

/** A structured-field string (RFC 9651, 3.3.3), which holds printable ASCII only: other keys are percent-encoded as UTF-8, `%` included. */
export function structuredString(text: string): string {
  const printable = /^[\x20-\x7e]*$/.test(text)
    ? text
    : text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part));
  return `"${printable.replace(/["\\]/g, "\\$&")}"`;
}

/** A value as HTTP sends it: UTF-8 bytes, each as one character. null: a header cannot carry it. */
function wireValue(text: string): string | null {
  // Line breaks and other controls would end the header, or start another one.
  if (/[^\P{Cc}\t]/u.test(text)) return null;
  return /^[\x20-\x7e\t]*$/.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** Text of a parked header, when it has one; bytes that are text, too. */
function carriedText(header: Header): string | null {
  const [, value, encoding] = header;
  return value !== null && encoding === "bytes" ? textOrNull(Buffer.from(value, "base64")) : headerText(header);
}

/** The span of the send; when sends are not traced, a new span of the parked trace: the sampling decision of the parked header is kept. */
function traceparent(message: OutboundMessage): string | null {
  if (message.traceparent !== undefined) return message.traceparent;
  if (message.traceId === null || !/^[\da-f]{32}$/.test(message.traceId)) return null;
  const parked = message.headers.find(([name]) => name.toLowerCase() === "traceparent")?.[1] ?? null;
  const flags = traceIdOf(parked) === message.traceId ? parked!.trim().toLowerCase().split("-")[3]!.slice(0, 2) : "01";
  return `00-${message.traceId}-${randomBytes(8).toString("hex")}-${flags}`;
}

/** Headers that every request has, and the names that parked headers must not have beside them. */
function configured(config: HttpConfig): { fixed: [string, string][]; overridden: Set<string> } {
  const signature = signatureNames(config.signing);
  const fixed = Object.entries(config.headers ?? {}).filter(([name]) => !signature.includes(name.toLowerCase()));
  const token = config.oauth === undefined ? [] : ["authorization"];
  return { fixed, overridden: new Set([...token, ...signature, ...fixed.map(([name]) => name.toLowerCase())]) };
}

/** `key`: the name in lower case. */
type WireHeader = { name: string; key: string; value: string };

/** The application's own headers in their order. `wire` null: HTTP cannot carry the header. */
function* forwarded(
  { headers, origin }: ParkedHeaders,
  config: HttpConfig,
): Generator<{ header: Header; wire: WireHeader | null }> {
  const { overridden } = configured(config);
  for (const header of stripFailureHeaders(headers, origin.convention)) {
    const name = httpName(header[0]);
    const key = name?.toLowerCase() ?? "";
    if (NOT_FORWARDED.has(key) || overridden.has(key) || isRedriveHeader(key)) continue;
    if (CREDENTIALS.has(key) && config.forwardCredentials !== true) continue;
    const text = carriedText(header);
    const value = text === null ? null : wireValue(text);
    yield { header, wire: name === null || value === null ? null : { name, key, value } };
  }
}

/** Parked headers that HTTP cannot carry: by their names, or by values that are absent, hold a line break or are no text. */
export function headersLeftOut(config: HttpConfig, message: ParkedHeaders): string[] {
  const lost = [...forwarded(message, config)].flatMap(({ header, wire }) =>
    wire === null ? quotedName(header[0]) : [],
  );
  return [...new Set(lost)];
}

/**
 * Headers of one attempt as a flat list of names and values. The application's own are restored in their order,
 * duplicates kept; fixed headers of the configuration take the place of parked ones of the same name.
 */
export function requestHeaders(message: OutboundMessage, config: HttpConfig): string[] {
  const { fixed, overridden } = configured(config);
  const retryCount = overridden.has(RETRY_COUNT) ? 0 : (message.retryCount ?? 0);
  const flat: string[] = [];
  for (const { wire } of forwarded(message, config)) {
    if (wire !== null && !(wire.key === RETRY_COUNT && retryCount > 0)) flat.push(wire.name, wire.value);
  }
  for (const [name, value] of fixed) flat.push(name, value);
  const contentType = wireValue(message.contentType);
  if (contentType) flat.push("content-type", contentType);
  flat.push("idempotency-key", structuredString(message.idempotencyKey));
  flat.push(REDRIVE_ID, message.redriveId, REDRIVE_ATTEMPT, String(message.attempt));
  if (retryCount > 0) flat.push(RETRY_COUNT, String(retryCount));
  const from = wireValue(message.from);
  if (from) flat.push(REDRIVE_FROM, from);
  for (const [name, value] of furtherMarks(message)) {
    const text = wireValue(value);
    if (text) flat.push(name, text);
  }
  const trace = traceparent(message);
  if (trace !== null) flat.push("traceparent", trace);
  return flat;
}

export function requestOf(
  message: OutboundMessage,
  config: HttpConfig,
  atMs: number,
): { headers: string[]; body: Uint8Array } {
  const { format, signing } = config;
  const formed = format === undefined || format === "as-parked" ? message : asCloudEvent(message, format);
  const headers = requestHeaders(formed, config);
  const body = formed.payload;
  if (signing === undefined) return { headers, body };
  // The same for each attempt, so that a receiver knows a repeat.
  const id = webhookIdOf(message.redriveId, identityOf(message));
  return { headers: [...headers, ...Object.entries(signatureHeaders(signing, { id, atMs, body })).flat()], body };
}

type Signing = NonNullable<HttpConfig["signing"]>;
export type SignedIntake = NonNullable<HttpConfig["signedIntake"]>;

/** Names of the headers that a signature takes: parked ones of the same name belong to another request. */
export function signatureNames(signing: Signing | undefined): string[] {
  if (signing === undefined) return [];
  if (signing.scheme === "standard-webhooks") return [WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE];
  return [signing.header, signing.timestampHeader ?? signing.header].map((name) => name.toLowerCase());
}

/** Whether a request tries to be signed for this source: then its body is read as a whole before its first event. */
export function namesSignature(intake: SignedIntake, headers: Headers): boolean {
  return headers.has(intake.scheme === "standard-webhooks" ? WEBHOOK_SIGNATURE : intake.header);
}
