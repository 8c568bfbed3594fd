import { createHash } from "node:crypto";
import { type BasicProperties, encodeProperties, shortText } from "@/lib/brokers/amqp/basic-properties";
import type { ReceivedProperties } from "@/lib/brokers/amqp/exact-properties";
import { toHeader } from "@/lib/brokers/amqp/field-header";
import { textOrNull } from "@/lib/brokers/amqp/field-table";
import { cloudEventOf } from "@/lib/brokers/conventions/cloud-event";
import { clean, type Delivery, HeaderView, type Reading, viewOf } from "@/lib/brokers/conventions/delivery";
import { readConvention } from "@/lib/brokers/conventions/detect";
import { deriveErrorCode, UNKNOWN_ERROR } from "@/lib/brokers/conventions/error-code";
import { limitedEventId, mapFields } from "@/lib/brokers/conventions/mapping";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { REDRIVE_EVENT_ID, redriveMarkIn } from "@/lib/brokers/conventions/redrive-mark";
import { traceIdIn, traceIdOf } from "@/lib/brokers/conventions/trace";
import type { Mapping } from "@/lib/contract/source-config";
import type { DeadLetter, DeadLetterError, Origin } from "@/lib/core/dead-letter";

export type ReadContext = {
  /** The dead-letter queue it was read from. */
  queue: string;
  mapping: Mapping;
};

/** Convention name of a message whose property list could not be parsed. */
export const UNREADABLE = "unreadable";

/**
 * Id of a message that carries none: a hash of all its facts, including when and where it was dead-lettered. Two messages
 * get one id only when they are equal in every byte and were dead-lettered in the same second in the same place; a message
 * that is delivered twice gets the same id twice.
 */
function fingerprintId(delivery: Delivery, list: Uint8Array): string {
  const hash = createHash("sha256");
  for (const part of [delivery.exchange, delivery.routingKey]) hash.update(part).update("\u0000");
  return `sha256-${hash.update(list).update("\u0000").update(delivery.body).digest("hex")}`;
}

/** Properties as JSON, without the headers, which have a column of their own. */
function storedProperties({ headers: _, timestamp, ...rest }: BasicProperties): Record<string, unknown> {
  return { ...rest, ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }) };
}

/** The content type that is shown for an absent one. The redrive leaves the property absent again. */
function assumedContentType(payload: PayloadJson, body: Uint8Array): string {
  if (payload.isDocument) return "application/json";
  return textOrNull(body) === null ? "application/octet-stream" : "text/plain";
}

const CONTENT_TYPE_HEADERS = ["content-type", "NServiceBus.ContentType", "rbs2-content-type"];

function cleanError(error: DeadLetterError): DeadLetterError {
  const part = (text: string | null) => (text === null ? null : clean(text));
  return { type: part(error.type), message: part(error.message), stack: part(error.stack) };
}

function originOf(reading: Reading, outer: Delivery, original: Delivery, context: ReadContext): Origin {
  return {
    convention: reading.convention,
    ...reading.origin,
    deadLetter: { queue: context.queue, exchange: outer.exchange, routingKey: outer.routingKey },
    properties: storedProperties(original.properties),
  };
}

/** Reads a delivery whose properties parsed. Pure; throws only on a defect of a parser. */
export function readDelivery(outer: Delivery, context: ReadContext): DeadLetter {
  const view = viewOf(outer, context.queue);
  const reading = readConvention(view);
  const original: Delivery = reading.inner === null ? outer : { ...outer, ...reading.inner };
  const headers = reading.inner === null ? view.headers : new HeaderView(original.properties.headers ?? []);
  const payload = new PayloadJson(original.body);
  const stated = shortText(original.properties.contentType) ?? headers.firstText(CONTENT_TYPE_HEADERS);
  const assumed = stated === null ? assumedContentType(payload, original.body) : null;
  const cloudEvent = cloudEventOf(headers, stated, payload);
  const fields = mapFields(context.mapping, { delivery: original, headers, payload, cloudEvent, reading });
  const redrive = redriveMarkIn(headers);
  const markedId = redrive === null ? null : limitedEventId(headers.text(REDRIVE_EVENT_ID));
  const origin = originOf(reading, outer, original, context);
  return {
    eventId: markedId ?? fields.eventId ?? fingerprintId(outer, encodeProperties(outer.properties)),
    aggregateType: fields.aggregateType,
    aggregateId: fields.aggregateId,
    version: fields.version,
    eventType: fields.eventType,
    traceId: traceIdIn(headers) ?? traceIdOf(cloudEvent?.get("traceparent") ?? null),
    errorCode: fields.errorCode ?? deriveErrorCode(reading.exceptionTypes, reading.reason),
    error: cleanError(reading.error),
    attempts: reading.attempts,
    failedAtMs: reading.failedAtMs,
    payload: original.body,
    contentType: stated ?? assumed!,
    headers: (original.properties.headers ?? []).map(([name, value]) => toHeader(name, value)),
    tags: fields.tags,
    origin: assumed === null ? origin : { ...origin, contentTypeAssumed: assumed },
    redrive,
  };
}

type Received = { exchange: string; routingKey: string; properties: ReceivedProperties; body: Uint8Array };

function unreadable(received: Received, context: ReadContext, problem: string): DeadLetter {
  const { exchange, routingKey, properties, body } = received;
  const raw = properties.readable ? encodeProperties(properties.properties) : properties.raw;
  return {
    eventId: fingerprintId({ exchange, routingKey, properties: {}, body }, raw),
    aggregateType: null,
    aggregateId: null,
    version: null,
    eventType: null,
    traceId: null,
    errorCode: UNKNOWN_ERROR,
    error: { type: null, message: `message properties could not be read: ${clean(problem)}`, stack: null },
    attempts: 0,
    failedAtMs: null,
    payload: body,
    contentType: "application/octet-stream",
    headers: properties.readable
      ? (properties.properties.headers ?? []).map(([name, value]) => toHeader(name, value))
      : [],
    tags: {},
    origin: {
      convention: UNREADABLE,
      deadLetter: { queue: context.queue, exchange, routingKey },
      properties: properties.readable ? storedProperties(properties.properties) : {},
      rawProperties: raw.toString("base64"),
    },
    redrive: null,
  };
}

/**
 * Any delivery as DeadLetter: a message that no parser can read is parked raw, with its property list in
 * `origin.rawProperties` (base64), so that no message is lost or blocks the queue.
 */
export function readDeadLetter(received: Received, context: ReadContext): DeadLetter {
  const { properties, ...rest } = received;
  if (!properties.readable) return unreadable(received, context, properties.problem);
  try {
    return readDelivery({ ...rest, properties: properties.properties }, context);
  } catch (error) {
    return unreadable(received, context, error instanceof Error ? error.message : String(error));
  }
}
