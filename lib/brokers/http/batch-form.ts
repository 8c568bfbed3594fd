import * as z from "zod/mini";
import type { BatchOutcome } from "@/lib/brokers/batched-publisher";
import { isRedriveHeader, RETRY_COUNT } from "@/lib/brokers/conventions/redrive-mark";
import { asCloudEvent } from "@/lib/brokers/http/cloud-event-form";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { requestHeaders } from "@/lib/brokers/http/request";
import { textOrNull } from "@/lib/brokers/message";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { isJson } from "@/lib/platform/plain/json-text.pure";

/**
 * Several redrives in one request. An entry holds what the request of its event alone would: its headers, but for those that the
 * configuration gives every request, and its body. Both forms name the event by its Idempotency-Key, and the answer does.
 */
export const BATCH_TYPES = { cloudevents: "application/cloudevents-batch+json", ndjson: "application/x-ndjson" };
type BatchFormat = keyof typeof BATCH_TYPES;

/** One event of a batch as it goes out. PublishError: it has no place in this form, and nothing was sent. */
export function entryOf(message: OutboundMessage, format: BatchFormat, config: HttpConfig): Uint8Array {
  return format === "ndjson" ? lineOf(message, config) : elementOf(message, config);
}

export function bodyOf(entries: readonly Uint8Array[], format: BatchFormat): Uint8Array {
  if (format === "ndjson") return Buffer.concat(entries.flatMap((entry) => [entry, Buffer.from("\n")]));
  const parts = entries.flatMap((entry, index) => [Buffer.from(index === 0 ? "[" : ","), entry]);
  return Buffer.concat([...parts, Buffer.from("]")]);
}

/** Headers of the event's own request, as text. The configuration's stand once, over the whole batch. */
function ownHeaders(
  message: OutboundMessage,
  { headers: fixed = {}, oauth, forwardCredentials }: HttpConfig,
): [string, string][] {
  const taken = new Set(Object.keys(fixed).map((name) => name.toLowerCase()));
  const flat = requestHeaders(message, { oauth, forwardCredentials } as HttpConfig);
  return flat.flatMap((name, index): [string, string][] => {
    if (index % 2 === 1 || taken.has(name.toLowerCase())) return [];
    return [[name, Buffer.from(flat[index + 1]!, "latin1").toString("utf8")]];
  });
}

function lineOf(message: OutboundMessage, config: HttpConfig): Uint8Array {
  const formed =
    config.format === undefined || config.format === "as-parked" ? message : asCloudEvent(message, config.format);
  const text = textOrNull(formed.payload);
  const body = text === null ? { bodyBase64: Buffer.from(formed.payload).toString("base64") } : { body: text };
  return Buffer.from(JSON.stringify({ key: message.idempotencyKey, headers: ownHeaders(formed, config), ...body }));
}

/** A structured CloudEvent. What Parkade adds are extension attributes, whose names have lower-case letters and digits alone. */
function elementOf(message: OutboundMessage, config: HttpConfig): Uint8Array {
  const formed = asCloudEvent(message, "cloudevents-structured");
  const text = textOrNull(formed.payload)?.trim();
  if (text === undefined || !text.startsWith("{") || !isJson(text)) {
    const detail = `a body of ${message.contentType} cannot be part of a CloudEvents batch: use the ndjson format for this target`;
    throw new PublishError("HTTP_NO_BATCH_FORM", detail, { sent: "no" });
  }
  const attributes = new Map([["idempotencykey", message.idempotencyKey]]);
  const others: [string, string][] = [];
  for (const [name, value] of ownHeaders(formed, config)) {
    const key = name.toLowerCase();
    if (key === "content-type" || key === "idempotency-key") continue;
    if (isRedriveHeader(key) || key === RETRY_COUNT || key === "traceparent") {
      attributes.set(key.replace(/^x-/, "").replaceAll("-", ""), value);
    } else others.push([name, value]);
  }
  if (others.length > 0) attributes.set("httpheaders", JSON.stringify(others));
  const members = [...attributes].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",");
  const inside = text.slice(1, -1).trim();
  // Behind those that it was parked with: readers take the last of two members of one name.
  return Buffer.from(`{${inside === "" ? "" : `${inside},`}${members}}`);
}

const resultSchema = z.object({
  key: z.string(),
  status: z.int().check(z.minimum(100), z.maximum(599)),
  replayed: z.optional(z.boolean()),
  retryAfter: z.optional(z.union([z.string(), z.number()])),
  detail: z.optional(z.string()),
});
export type BatchResult = z.infer<typeof resultSchema>;

/** The target's result for each event of a batch: a JSON array, or one object a line. Conflicting results of one key are ignored. */
export function resultsOf(text: string): Map<string, BatchResult> {
  const results = new Map<string, BatchResult>();
  const disputed = new Set<string>();
  for (const value of valuesOf(text)) {
    const { success, data } = resultSchema.safeParse(value);
    if (!success) continue;
    const before = results.get(data.key);
    if (before !== undefined && before.status !== data.status) disputed.add(data.key);
    results.set(data.key, data);
  }
  for (const key of disputed) results.delete(key);
  return results;
}

function valuesOf(text: string): unknown[] {
  if (text.trimStart().startsWith("[")) {
    const values = parsed(text);
    return Array.isArray(values) ? values : [];
  }
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parsed(line)]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The target's word on one event. Without one it may have taken the event. */
export function outcomeOf(
  result: BatchResult | undefined,
  { address, refusal }: { address: string; refusal(result: BatchResult): PublishError },
): BatchOutcome {
  if (result === undefined) {
    const detail = `${address} accepted the batch but returned no result for this event: it may have been processed`;
    return new PublishError("HTTP_NO_RESULT", detail, { sent: "maybe" });
  }
  if (result.status < 200 || result.status >= 300) return refusal(result);
  return { status: `HTTP ${result.status}`, ...(result.replayed ? { deduplicated: true } : {}) };
}
