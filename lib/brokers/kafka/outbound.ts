import { compatibilityPartitioner, type MessageToProduce } from "@platformatic/kafka";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import {
  furtherMarks,
  REDRIVE_ATTEMPT,
  REDRIVE_EVENT_ID,
  REDRIVE_FROM,
  REDRIVE_ID,
  RETRY_COUNT,
} from "@/lib/brokers/conventions/redrive-mark";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import type { KafkaRecord } from "@/lib/brokers/kafka/record-batch";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { type Header, headerText } from "@/lib/platform/plain/dead-letter.pure";

type Lane = "main" | "slow";

/** A record that a redrive writes. `partition` null: by its key, as Java clients choose it. */
export type KafkaOutbound = {
  topic: string;
  partition: number | null;
  key: Buffer | null;
  value: Buffer | null;
  headers: [name: Buffer, value: Buffer | null][];
};

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

function topicOf({ origin }: OutboundMessage, { redriveTo, slowLaneTopic }: KafkaConfig, lane: Lane): string {
  if (lane === "slow" && slowLaneTopic !== undefined) return slowLaneTopic;
  const topic = redriveTo?.topic ?? origin.topic;
  if (topic === undefined || topic === "")
    throw refuse(
      "KAFKA_NO_ORIGIN_TOPIC",
      "the record does not name the topic it came from: set redriveTo.topic in the source's configuration",
    );
  return topic;
}

function bytesOf(header: Header): Buffer | null {
  const [, value, encoding] = header;
  if (value === null) return null;
  if (encoding === "bytes") return Buffer.from(value, "base64");
  return Buffer.from(headerText(header) ?? value);
}

/** Content types by which consumers of some frameworks read. */
const CONTENT_TYPES = new Set(["content-type", "nservicebus.contenttype"]);

/** The content type goes back as it was: absent when it was absent, changed when a person has changed it. */
function withContentType(headers: Header[], { contentType, origin }: OutboundMessage): Header[] {
  if (contentType === "" || contentType === origin.contentTypeAssumed) return headers;
  const stated = headers.filter(([name]) => CONTENT_TYPES.has(name.toLowerCase()));
  if (stated.some((header) => headerText(header) === contentType)) return headers;
  return [...headers.filter(([name]) => name.toLowerCase() !== "content-type"), ["content-type", contentType]];
}

function recounted(headers: Header[], retryCount: number): Header[] {
  if (retryCount === 0) return headers;
  return [...headers.filter(([name]) => name.toLowerCase() !== RETRY_COUNT), [RETRY_COUNT, String(retryCount)]];
}

function originPartition({ origin }: OutboundMessage, topic: string): number | null {
  const { partition } = origin;
  return origin.topic === topic && Number.isInteger(partition) && partition! >= 0 ? partition! : null;
}

/**
 * The record of one attempt. `source` is the record that a dead letter without its own headers refers to, when the
 * source topic still has it. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is.
 */
export function outboundOf(
  message: OutboundMessage,
  config: KafkaConfig,
  lane: Lane,
  source: KafkaRecord | null,
): KafkaOutbound {
  const { origin, payload } = message;
  if (origin.recordBatch === true)
    throw refuse("KAFKA_UNREADABLE", "this is a damaged record batch, which cannot be sent back");
  const byReference = origin.payload === "reference-only" && payload.byteLength === 0;
  if (byReference && source === null)
    throw refuse(
      "KAFKA_ORIGINAL_GONE",
      `the dead letter has no body, and ${origin.topic} [${origin.partition}] no longer has a record at offset ${origin.offset}`,
    );
  const topic = topicOf(message, config, lane);
  const names = (origin.headerNames ?? {}) as Record<string, string>;
  const nameOf = (name: string) => (names[name] === undefined ? Buffer.from(name) : Buffer.from(names[name], "base64"));
  const own = stripFailureHeaders(message.headers, origin.convention);
  const headers: KafkaOutbound["headers"] = [
    ...(source?.headers ?? []),
    ...recounted(withContentType(own, message), message.retryCount ?? 0).map(
      (header) => [nameOf(header[0]), bytesOf(header)] as [Buffer, Buffer | null],
    ),
    ...[
      [REDRIVE_ID, message.redriveId],
      [REDRIVE_ATTEMPT, String(message.attempt)],
      [REDRIVE_FROM, message.from],
      [REDRIVE_EVENT_ID, message.eventId],
      ...furtherMarks(message),
    ].map(([name, value]) => [Buffer.from(name!), Buffer.from(value!)] as [Buffer, Buffer]),
  ];
  const parkedKey = typeof origin.key === "string" ? Buffer.from(origin.key, "base64") : null;
  const key = byReference ? source!.key : parkedKey;
  const sent = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  // An edited payload is no tombstone any more.
  const absent = origin.absentBody === true && payload.byteLength === 0;
  const byOrigin = config.redriveTo?.partition === "origin" || key === null;
  return {
    topic,
    partition: byOrigin ? originPartition(message, topic) : null,
    key,
    value: byReference ? source!.value : absent ? null : sent,
    headers,
  };
}

/** The client's form of a record. `partition` is the number it goes to. */
export function produced({ topic, key, value, headers }: KafkaOutbound, partition: number): MessageToProduce {
  return {
    topic,
    partition,
    ...(key === null ? {} : { key }),
    ...(value === null ? {} : { value }),
    // A Map keeps repeated names because each name is another object.
    headers: new Map(headers) as Map<Buffer, Buffer>,
  };
}

/** The partition of a record with a key, as Kafka's own Java producer chooses it. */
export function partitionOf(key: Buffer, partitions: number): number {
  return compatibilityPartitioner({ topic: "", key }, key) % partitions;
}
