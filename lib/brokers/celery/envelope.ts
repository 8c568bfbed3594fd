import { createHash, randomUUID } from "node:crypto";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { readDeadLetter, unreadable } from "@/lib/brokers/conventions/read-dead-letter";
import { RETRY_COUNT, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { type HeaderValue, HeaderView, type Message, textOrNull } from "@/lib/brokers/message";
import type { OutboundMessage } from "@/lib/brokers/port";
import type { DeadLetter, Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import { ExactNumber, isExactObject, parseExact } from "@/lib/platform/plain/exact-json.pure";

type Json = Record<string, unknown>;

/** Names the queue that a task failed in. The application writes it when it puts the task into its dead-letter queue. */
const ORIGINAL_QUEUE = "x-original-queue";
/** Kombu writes it when it gives back a message that no worker acknowledged. */
const REDELIVERED = "redelivered";

type Envelope = { body: Buffer | null; headers: Json; properties: Json; encoding: unknown; contentType: unknown };

function textIn(object: Json, name: string): string | null {
  const value = object[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** The bytes that Kombu's consumer decodes. Throws when writing them again would give another text. */
function bodyOf(body: unknown, encoding: unknown): Buffer | null {
  if (body === null || body === undefined) return null;
  if (typeof body !== "string" || !body.isWellFormed()) throw new Error("its body is not text");
  if (typeof encoding !== "string" || encoding.toLowerCase() === "utf-8") return Buffer.from(body, "utf8");
  if (encoding !== "base64") throw new Error(`its body_encoding ${encoding.slice(0, 40)} is unknown`);
  const bytes = Buffer.from(body, "base64");
  if (bytes.toString("base64") !== body) throw new Error("its body is not base64");
  return bytes;
}

/** The envelope in an item of a queue. Throws when it is none: Kombu's own consumer cannot take it either. */
function envelopeOf(item: Buffer): Envelope {
  const text = textOrNull(item);
  let envelope: unknown;
  try {
    envelope = parseExact(text ?? "");
  } catch {
    throw new Error("it is no JSON");
  }
  if (!isExactObject(envelope) || !isExactObject(envelope.properties)) throw new Error("it is not a Kombu envelope");
  const { properties, headers = {} } = envelope;
  if (properties.delivery_tag === undefined) throw new Error("it has no delivery_tag");
  if (headers !== null && !isExactObject(headers)) throw new Error("its headers are not an object");
  return {
    body: bodyOf(envelope.body, properties.body_encoding),
    headers: headers ?? {},
    properties,
    encoding: envelope["content-encoding"] ?? null,
    contentType: envelope["content-type"],
  };
}

/** A header with its type: text as text, everything else as its JSON. */
function storedHeader(name: string, value: unknown): Header {
  if (value === null) return [name, null];
  // JSON may hold what PostgreSQL cannot store as text.
  if (typeof value === "string" && value.isWellFormed() && !value.includes("\u0000")) return [name, value];
  return [name, JSON.stringify(value), "amqp"];
}

function headerValue([, value, encoding]: Header): unknown {
  if (value === null || encoding !== "amqp") return value;
  try {
    return parseExact(value);
  } catch {
    return value;
  }
}

function viewed(value: unknown): HeaderValue {
  if (value instanceof ExactNumber) return value.digits;
  return typeof value === "string" || typeof value === "boolean" || value === null ? value : { table: [] };
}

/** The exchange and routing key by which a message was last sent. */
function deliveryOf(properties: Json): { exchange: string; routingKey: string } | null {
  const info = properties.delivery_info;
  const routingKey = isExactObject(info) ? textIn(info, "routing_key") : null;
  return routingKey === null ? null : { exchange: textIn(info as Json, "exchange") ?? "", routingKey };
}

/** Where a message was before: delivery_info names the dead-letter queue when it was sent there, and the origin when it was moved. */
function originOf({ headers, properties }: Envelope, queue: string): Origin {
  const named = textIn(headers, ORIGINAL_QUEUE);
  if (named !== null) return { queue: named };
  const delivery = deliveryOf(properties);
  if (delivery === null || delivery.routingKey === queue) return {};
  const { exchange, routingKey } = delivery;
  return exchange === "" ? { queue: routingKey } : { exchange, routingKeys: [routingKey] };
}

function messageOf(envelope: Envelope, queue: string): Message {
  const { body, headers, properties, encoding, contentType } = envelope;
  const { exchange = null, routingKey = null } = deliveryOf(properties) ?? {};
  const scalars = Object.entries(properties).flatMap(([name, value]) => {
    const text = value instanceof ExactNumber ? value.digits : value;
    return typeof text === "string" ? [[name, text] as const] : [];
  });
  const facts: Record<string, string | null> = { ...Object.fromEntries(scalars), exchange, routing_key: routingKey };
  // Protocol 1 of Celery writes into the body what protocol 2 writes into the headers.
  const task = headers.task === undefined && body !== null ? new PayloadJson(body) : null;
  const isTask = task?.value("/args") !== undefined && task.value("/kwargs") !== undefined;
  return {
    container: queue,
    headers: new HeaderView(Object.entries(headers).map(([name, value]) => [name, viewed(value)])),
    storedHeaders: () => Object.entries(headers).map(([name, value]) => storedHeader(name, value)),
    body,
    messageId: facts.message_id ?? (isTask ? task!.scalar("/id") : null),
    type: facts.type ?? (isTask ? task!.scalar("/task") : null),
    contentType: typeof contentType === "string" && contentType !== "" ? contentType : null,
    sentAtMs: null,
    orderKey: null,
    property: (name) => facts[name] ?? null,
    origin: {
      ...originOf(envelope, queue),
      properties: facts,
      // As JSON text: numbers keep their digits.
      kombu: JSON.stringify({ encoding, properties }),
      deadLetter: { queue },
    },
    ownId: () => `${queue}:${facts.delivery_tag}`,
  };
}

/** An item of a dead-letter queue. What is no envelope is parked as it is. */
export function letterOf(item: Buffer, { queue, mapping = {} }: { queue: string; mapping?: Mapping }): DeadLetter {
  try {
    return readDeadLetter(messageOf(envelopeOf(item), queue), mapping);
  } catch (error) {
    const ownId = () => `${queue}:${createHash("sha256").update(item).digest("hex")}`;
    return unreadable({
      body: item,
      origin: { deadLetter: { queue } },
      ownId,
      problem: (error as Error).message,
      headers: [],
    });
  }
}

/** What was parked of the envelope around the body. */
function parkedParts({ origin }: OutboundMessage): { encoding: unknown; properties: Json } {
  if (typeof origin.kombu === "string") return parseExact(origin.kombu) as { encoding: unknown; properties: Json };
  return { encoding: null, properties: { delivery_mode: 2, priority: 0, body_encoding: "base64" } };
}

function headersOf(message: OutboundMessage): Json {
  const { convention } = message.origin;
  const replaced = [ORIGINAL_QUEUE, REDELIVERED, ...((message.retryCount ?? 0) > 0 ? [RETRY_COUNT] : [])];
  const own = stripFailureHeaders(message.headers, convention)
    .filter(([name]) => !replaced.includes(name.toLowerCase()))
    .map((header) => [header[0], headerValue(header)]);
  const headers: Json = { ...Object.fromEntries(own), ...redriveMarks(message) };
  // A worker discards an expired task without a word.
  if (convention === "celery" && headers.expires !== undefined) headers.expires = null;
  return headers;
}

/** The message of a redrive as Kombu publishes one, and its priority from 0 to 9. */
export function redrivenEnvelope(message: OutboundMessage): { priority: number; envelopeFor(queue: string): string } {
  const { payload, origin, contentType } = message;
  const { encoding, properties } = parkedParts(message);
  const text = properties.body_encoding === "base64" ? null : textOrNull(payload);
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const absent = origin.absentBody === true && payload.byteLength === 0;
  const isAssumed = contentType === "" || contentType === origin.contentTypeAssumed;
  const { [REDELIVERED]: _, ...delivery } = isExactObject(properties.delivery_info) ? properties.delivery_info : {};
  const priority = Math.trunc(Number(String(properties.priority ?? 0)));
  const envelopeFor = (queue: string) =>
    JSON.stringify({
      body: absent ? null : (text ?? bytes.toString("base64")),
      "content-encoding": encoding,
      "content-type": isAssumed ? null : contentType,
      headers: headersOf(message),
      properties: {
        ...properties,
        ...(text === null ? { body_encoding: "base64" } : {}),
        // A worker that gives a message back sends it where this says: not into the dead-letter queue.
        delivery_info: { ...delivery, exchange: "", routing_key: queue },
        // Kombu keeps what a worker has in hand by this tag.
        delivery_tag: randomUUID(),
      },
    });
  return { priority: Number.isNaN(priority) ? 0 : Math.min(Math.max(priority, 0), 9), envelopeFor };
}
