import type { Convention } from "@/lib/brokers/conventions/convention";
import { kafkaMessage, type Place } from "@/lib/brokers/kafka/message";
import type { KafkaRecord } from "@/lib/brokers/kafka/record-batch";
import type { Message } from "@/lib/brokers/message";
import { readFailedAt } from "@/lib/platform/plain/dead-letter.pure";
import { ExactNumber, isExactObject, parseExact } from "@/lib/platform/plain/exact-json.pure";

type Json = Record<string, unknown>;

function objectAt(value: unknown, ...path: string[]): Json | null {
  let at = value;
  for (const key of path) at = typeof at === "object" && at !== null ? (at as Json)[key] : undefined;
  return isExactObject(at) ? at : null;
}

function integer(value: unknown): bigint | null {
  return value instanceof ExactNumber && /^-?\d{1,19}$/.test(value.digits) ? BigInt(value.digits) : null;
}

function base64(value: unknown): Buffer | null {
  return typeof value === "string" ? Buffer.from(value, "base64") : null;
}

/** Lambda writes each header as an object of one name, its bytes as signed numbers. */
function headersOf(value: unknown): KafkaRecord["headers"] {
  return (Array.isArray(value) ? value : []).flatMap((one) =>
    Object.entries(objectAt(one) ?? {}).map(([name, bytes]): [Buffer, Buffer | null] => [
      Buffer.from(name),
      Array.isArray(bytes) ? Buffer.from(bytes.map((byte) => Number(integer(byte) ?? 0n) & 0xff)) : null,
    ]),
  );
}

/** The failure record around exactly one Kafka record; null for every other body. */
function envelopeOf({ body }: Message): { envelope: Json; record: Json } | null {
  // A cheap look before parsing: this code runs for every record of every topic.
  if (body === null || !Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"KafkaBatchInfo"'))
    return null;
  let envelope: unknown;
  try {
    envelope = parseExact(Buffer.from(body).toString("utf8"));
  } catch {
    return null; // not JSON, so no envelope: parked as it is
  }
  const lists = Object.values(objectAt(envelope, "payload", "records") ?? {});
  const [record] = lists.length === 1 && Array.isArray(lists[0]) && lists[0].length === 1 ? lists[0] : [];
  const found = objectAt(record);
  return found === null || typeof found.topic !== "string" || objectAt(envelope, "requestContext") === null
    ? null
    : { envelope: envelope as Json, record: found };
}

/**
 * The on-failure destination `kafka://topic` of an AWS Lambda event source mapping: a JSON record of the failed invocation
 * around the record, which is parked in its place. Source: AWS Lambda developer guide, "Capturing discarded batches for
 * Amazon MSK and self-managed Apache Kafka".
 */
export const lambdaKafka: Convention = {
  name: "lambda-kafka",
  owns: () => false,
  read(message) {
    const found = envelopeOf(message);
    if (found === null) return null;
    const { envelope, record } = found;
    const context = objectAt(envelope, "requestContext")!;
    const response = objectAt(envelope, "responsePayload");
    const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : null);
    const [partition, offset] = [integer(record.partition), integer(record.offset)];
    const deadLetter = message.origin.deadLetter as Place;
    const inner = kafkaMessage(
      {
        offset: offset ?? 0n,
        timestampMs: Number(integer(record.timestamp) ?? -1n),
        key: base64(record.key),
        value: base64(record.value),
        headers: headersOf(record.headers),
      },
      { topic: message.container, topicId: "", partition: deadLetter.partition },
    );
    const type = text(response?.errorType);
    const consumer = text(context.functionArn);
    return {
      convention: "lambda-kafka",
      origin: {
        topic: record.topic as string,
        ...(partition === null ? {} : { partition: Number(partition) }),
        ...(offset === null ? {} : { offset: String(offset) }),
        ...(consumer === null ? {} : { consumer }),
      },
      error: { type, message: text(response?.errorMessage) ?? text(context.condition), stack: null },
      exceptionTypes: type === null ? [] : [type],
      reason: text(context.condition),
      attempts: Number(integer(context.approximateInvokeCount) ?? 0n),
      ...readFailedAt(text(envelope.timestamp)),
      messageId: null,
      eventType: null,
      inner: { ...inner, ownId: () => message.ownId() },
    };
  },
};
