import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { UNREADABLE } from "@/lib/brokers/conventions/read-dead-letter";
import {
  furtherMarks,
  REDRIVE_ATTEMPT,
  REDRIVE_EVENT_ID,
  REDRIVE_FROM,
  REDRIVE_ID,
  RETRY_COUNT,
} from "@/lib/brokers/conventions/redrive-mark";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { type BasicProperties, type ShortText, shortText } from "@/lib/brokers/rabbitmq/basic-properties";
import { fromHeader } from "@/lib/brokers/rabbitmq/field-header";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";

type Destination = { exchange: string; routingKey: string };
export type AmqpOutbound = { to: Destination; properties: BasicProperties; content: Buffer };

function refuse(code: string, message: string, cause?: unknown): PublishError {
  return new PublishError(code, message, { sent: "no", cause });
}

/** Where a message goes. The default exchange delivers to the one queue that the routing key names. */
function destinationOf(message: OutboundMessage, config: RabbitmqConfig, lane: "main" | "slow"): Destination {
  const { origin } = message;
  const { redriveTo, slowLaneQueue } = config;
  if (lane === "slow" && slowLaneQueue !== undefined) return { exchange: "", routingKey: slowLaneQueue };
  if (redriveTo?.mode === "exchange") {
    const exchange = redriveTo.exchange ?? origin.exchange;
    const routingKey = redriveTo.routingKey ?? origin.routingKeys?.[0];
    if (exchange !== undefined && routingKey !== undefined) return { exchange, routingKey };
    throw refuse(
      "AMQP_NO_ORIGIN_EXCHANGE",
      "the message does not name the exchange and routing key it came through: set redriveTo.exchange and redriveTo.routingKey",
    );
  }
  const queue = redriveTo?.queue ?? origin.queue;
  if (queue === undefined || queue === "")
    throw refuse(
      "AMQP_NO_ORIGIN_QUEUE",
      "the message does not name the queue it died in: set redriveTo.queue in the source's configuration",
    );
  return { exchange: "", routingKey: queue };
}

function text(value: unknown): ShortText | undefined {
  if (typeof value === "string") return value;
  const base64 = (value as { base64?: unknown } | null | undefined)?.base64;
  return typeof base64 === "string" ? { base64 } : undefined;
}

function octet(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255 ? value : undefined;
}

/** RabbitMQ's direct reply-to names a channel that is closed by now. */
function lastingReplyTo(value: ShortText | undefined): ShortText | undefined {
  return shortText(value)?.startsWith("amq.rabbitmq.reply-to") ? undefined : value;
}

/**
 * Properties as received, except: persistent, so that a broker restart does not lose it; no `user_id`, which the broker
 * checks against our own login; no `expiration`, by which the message would expire again; no `cluster_id`, which is another broker's.
 */
function restoredProperties({ origin, contentType }: OutboundMessage): BasicProperties {
  const stored = origin.properties ?? {};
  const timestamp = typeof stored.timestamp === "string" && /^\d{1,20}$/.test(stored.timestamp);
  // A content type that was only assumed for display stays absent, unless a person has changed it since.
  const stated = contentType !== "" && contentType !== origin.contentTypeAssumed;
  return {
    contentType: stated ? contentType : text(stored.contentType),
    contentEncoding: text(stored.contentEncoding),
    deliveryMode: 2,
    priority: octet(stored.priority),
    correlationId: text(stored.correlationId),
    replyTo: lastingReplyTo(text(stored.replyTo)),
    messageId: text(stored.messageId),
    timestamp: timestamp ? BigInt(stored.timestamp as string) : undefined,
    type: text(stored.type),
    appId: text(stored.appId),
  };
}

/** Drops `CC` and `BCC` unless the message returns to its exchange: the broker would route a copy to each queue that they name. */
function routedHeaders(headers: FieldTable, { origin }: OutboundMessage, to: Destination, config: RabbitmqConfig) {
  const toOriginExchange = config.redriveTo?.mode === "exchange" && to.exchange !== "";
  if (!toOriginExchange) return headers.filter(([name]) => name !== "CC" && name !== "BCC");
  const others = (origin.routingKeys ?? []).slice(1);
  const lost = others.length > 0 && !headers.some(([name]) => name === "CC");
  // The broker removes CC when it dead-letters with a key of its own; x-death holds the keys.
  if (!lost || config.redriveTo?.routingKey !== undefined) return headers;
  return [
    ...headers,
    ["CC", { type: "array", value: others.map((value) => ({ type: "longstr", value })) }],
  ] as FieldTable;
}

/** The repeats so far, in place of the parked count and with its type: a consumer that reads an integer gets one. */
function recounted(own: FieldTable, retryCount: number): FieldTable {
  if (retryCount === 0) return own;
  const isCount = ([name]: FieldTable[number]) => name.toLowerCase() === RETRY_COUNT;
  const parked = own.find(isCount);
  return [...own.filter((field) => !isCount(field)), [parked?.[0] ?? RETRY_COUNT, countLike(parked?.[1], retryCount)]];
}

function countLike(parked: FieldValue | undefined, count: number): FieldValue {
  switch (parked?.type) {
    case "int64":
      return { type: "int64", value: BigInt(count) };
    case "int32":
    case "uint32":
      return { type: parked.type, value: count };
    case "int8":
    case "uint8":
    case "int16":
    case "uint16":
      // A value that fits the smallest type fits all of them.
      return count <= 127 ? { type: parked.type, value: count } : { type: "int32", value: count };
    default:
      return { type: "longstr", value: String(count) };
  }
}

function mark(name: string, value: string): FieldTable[number] {
  return [name, { type: "longstr", value }];
}

/** The AMQP message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
export function outboundOf(message: OutboundMessage, config: RabbitmqConfig, lane: "main" | "slow"): AmqpOutbound {
  if (message.origin.convention === UNREADABLE)
    throw refuse("AMQP_UNREADABLE", "the properties of this message could not be decoded, so it cannot be sent back");
  const to = destinationOf(message, config, lane);
  let own: FieldTable;
  try {
    own = stripFailureHeaders(message.headers, message.origin.convention).map((header) => [
      header[0],
      fromHeader(header),
    ]);
  } catch (cause) {
    throw refuse("AMQP_INVALID_MESSAGE", cause instanceof Error ? cause.message : String(cause), cause);
  }
  const headers: FieldTable = [
    ...routedHeaders(recounted(own, message.retryCount ?? 0), message, to, config),
    mark(REDRIVE_ID, message.redriveId),
    mark(REDRIVE_ATTEMPT, String(message.attempt)),
    mark(REDRIVE_FROM, message.from),
    mark(REDRIVE_EVENT_ID, message.eventId),
    ...furtherMarks(message).map(([name, value]) => mark(name, value)),
  ];
  const { payload } = message;
  return {
    to,
    properties: { ...restoredProperties(message), headers },
    content: Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength),
  };
}
