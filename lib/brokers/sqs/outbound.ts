import { createHash } from "node:crypto";
import type { MessageAttributeValue, SendMessageBatchRequestEntry } from "@aws-sdk/client-sqs";
import { isEnvelope, wrapped } from "@/lib/brokers/conventions/aws/sns";
import { isReferenceOnly } from "@/lib/brokers/conventions/convention";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { furtherMarks, RETRY_COUNT } from "@/lib/brokers/conventions/redrive-mark";
import { textOrNull } from "@/lib/brokers/message";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { isFifo, type SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { MARKS, PACKED_MARK } from "@/lib/brokers/sqs/message";
import { type Header, identityOf } from "@/lib/platform/plain/dead-letter.pure";

/** Of one message: body, and names, types and values of its attributes. Queues may set less. */
const MESSAGE_BYTES_MAX = 1_048_576;
const ATTRIBUTES_MAX = 10;
/** Of a deduplication id. */
const ID_CHARS_MAX = 128;
const ATTRIBUTE_NAME = /^(?!aws\.|amazon\.)(?!\.)(?!.*\.\.)(?!.*\.$)[A-Za-z0-9_.-]{1,256}$/i;
/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html */
// biome-ignore lint/suspicious/noControlCharactersInRegex: SQS takes exactly these.
const NOT_SQS_TEXT = /[^\u0009\u000A\u000D\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

export type SqsOutbound = {
  /** Name or URL. */
  queue: string;
  entry: Omit<SendMessageBatchRequestEntry, "Id">;
  bytes: number;
};

type Attributes = Record<string, MessageAttributeValue>;

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

function destinationOf({ origin }: OutboundMessage, config: SqsConfig, lane: "main" | "slow"): string {
  const queue = (lane === "slow" ? config.slowLaneQueue : undefined) ?? config.redriveTo?.queue ?? origin.queue;
  if (queue !== undefined && queue !== "") return queue;
  throw refuse(
    "SQS_NO_ORIGIN_QUEUE",
    "the message does not name the queue it died in: set redriveTo.queue in the source's configuration",
  );
}

/** The body as it was received: an edited message of SNS goes back in its envelope. */
function bodyOf({ payload, origin }: OutboundMessage): string {
  const text = textOrNull(payload);
  if (text === null || NOT_SQS_TEXT.test(text))
    throw refuse(
      "SQS_INVALID_MESSAGE_CONTENTS",
      "the body contains bytes that are not text, which SQS does not support",
    );
  const { envelope } = origin;
  if (isEnvelope(envelope)) return wrapped(envelope, text);
  if (text === "") throw refuse("SQS_INVALID_MESSAGE_CONTENTS", "the body is empty, which SQS does not support");
  return text;
}

function attributeOf([name, value, encoding = "text"]: Header, types: Record<string, unknown>): MessageAttributeValue {
  if (!ATTRIBUTE_NAME.test(name))
    throw refuse("SQS_INVALID_MESSAGE_CONTENTS", `header ${name} cannot be the name of an SQS attribute: remove it`);
  if (value === null || value === "" || (encoding !== "bytes" && NOT_SQS_TEXT.test(value)))
    throw refuse("SQS_INVALID_MESSAGE_CONTENTS", `header ${name} is empty or not text, which SQS does not support`);
  const type = types[name];
  if (encoding === "bytes")
    return { DataType: typeof type === "string" ? type : "Binary", BinaryValue: Buffer.from(value, "base64") };
  return { DataType: typeof type === "string" ? type : "String", StringValue: value };
}

function sizeOf(attributes: Attributes): number {
  return Object.entries(attributes).reduce(
    (sum, [name, { DataType = "", StringValue = "", BinaryValue }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + (BinaryValue?.byteLength ?? 0),
    0,
  );
}

function ownAttributes(message: OutboundMessage): Attributes {
  const { origin } = message;
  const types = (origin.properties?.attributeTypes ?? {}) as Record<string, unknown>;
  const inEnvelope = new Set(isEnvelope(origin.envelope) ? origin.envelope.headers : []);
  const own: Attributes = {};
  for (const header of stripFailureHeaders(message.headers, origin.convention)) {
    const [name] = header;
    if (inEnvelope.has(name) || (message.traceparentAdded && name === "traceparent")) continue;
    // The text is kept: an attribute of the same name with another case is another attribute.
    if (Object.hasOwn(own, name))
      throw refuse("SQS_INVALID_MESSAGE_CONTENTS", `header ${name} occurs twice, which SQS does not support`);
    own[name] = attributeOf(header, types);
  }
  return own;
}

const text = (StringValue: string): MessageAttributeValue => ({ DataType: "String", StringValue });

/** A content type that was not received with the message, but set by a person since, or by another broker. */
function addedContentType({ contentType, origin }: OutboundMessage, own: Attributes): Attributes {
  if (contentType === "" || contentType === origin.contentTypeAssumed) return {};
  const name = Object.keys(own).find((key) => key.toLowerCase() === "content-type") ?? "content-type";
  return { [name]: text(contentType) };
}

function recounted({ retryCount = 0 }: OutboundMessage, own: Attributes): Attributes {
  if (retryCount === 0) return {};
  const name = Object.keys(own).find((key) => key.toLowerCase() === RETRY_COUNT) ?? RETRY_COUNT;
  return { [name]: { ...text(String(retryCount)), DataType: own[name]?.DataType ?? "String" } };
}

/**
 * The attributes of the message and as many of ours as fit: all; else the four marks in one; else none. The message's own
 * always go. A message with ten attributes of its own, or of the greatest size, is known when it comes back by its event
 * id alone.
 */
function attributesOf(message: OutboundMessage, bodyBytes: number): Attributes {
  const received = ownAttributes(message);
  const fits = (attributes: Attributes) =>
    Object.keys(attributes).length <= ATTRIBUTES_MAX && bodyBytes + sizeOf(attributes) <= MESSAGE_BYTES_MAX;
  if (!fits(received)) {
    const count = Object.keys(received).length;
    throw count > ATTRIBUTES_MAX
      ? refuse("SQS_TOO_MANY_ATTRIBUTES", `the message has ${count} headers, but SQS accepts ten: remove some`)
      : refuse("SQS_MESSAGE_TOO_LARGE", `the message is larger than ${MESSAGE_BYTES_MAX} bytes with its attributes`);
  }
  const { redriveId, attempt, from, eventId } = message;
  const marks = [redriveId, String(attempt), from, eventId].map((mark) => mark.replace(NOT_SQS_TEXT, "\uFFFD"));
  const separate = Object.fromEntries(MARKS.map((name, index) => [name, text(marks[index]!)]));
  const packed = { [PACKED_MARK]: text(JSON.stringify(marks)) };
  const own = { ...received, ...addedContentType(message, received) };
  const counted = { ...own, ...recounted(message, own) };
  const revised = Object.fromEntries(furtherMarks(message).map(([name, value]) => [name, text(value)]));
  const traced: Attributes =
    message.traceparentAdded && message.traceparent !== undefined ? { traceparent: text(message.traceparent) } : {};
  const choices = [
    { ...counted, ...separate, ...revised, ...traced },
    { ...counted, ...separate, ...revised },
    { ...counted, ...separate },
    { ...counted, ...packed },
    { ...own, ...packed },
    { ...received, ...packed },
    own,
  ];
  return choices.find(fits) ?? received;
}

/** A new id for each send: FIFO queues drop a message whose id they saw in the last five minutes, and report success. */
function deduplicationId(message: OutboundMessage): string {
  const { redriveId, attempt, origin } = message;
  const received = origin.properties?.MessageDeduplicationId;
  const id = typeof received === "string" ? received : identityOf(message);
  const suffix = `:r${redriveId}:${attempt}`;
  const fits = /^[\x21-\x7e]+$/.test(id) && id.length + suffix.length <= ID_CHARS_MAX;
  return (fits ? id : createHash("sha256").update(id).digest("hex")) + suffix;
}

/** A group name of SQS: 1 to 128 visible ASCII characters. */
function groupOf(message: OutboundMessage): string {
  const group = message.origin.messageGroup;
  if (group !== undefined && group !== "") return group;
  // It came from where there are no groups, so it has no order to keep: a group of its own.
  return createHash("sha256").update(identityOf(message)).digest("hex");
}

function orderOf(message: OutboundMessage, queue: string): Partial<SqsOutbound["entry"]> {
  const { messageGroup } = message.origin;
  if (!isFifo(queue)) return messageGroup === undefined ? {} : { MessageGroupId: messageGroup };
  return { MessageGroupId: groupOf(message), MessageDeduplicationId: deduplicationId(message) };
}

/** The SQS message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
export function outboundOf(message: OutboundMessage, config: SqsConfig, lane: "main" | "slow"): SqsOutbound {
  if (isReferenceOnly(message.origin))
    throw refuse(
      "SQS_REFERENCE_ONLY",
      "this dead letter refers to records that it does not contain: there is nothing to send",
    );
  const queue = destinationOf(message, config, lane);
  const body = bodyOf(message);
  const bodyBytes = Buffer.byteLength(body);
  const attributes = attributesOf(message, bodyBytes);
  const trace = message.origin.properties?.AWSTraceHeader;
  return {
    queue,
    bytes: bodyBytes + sizeOf(attributes),
    entry: {
      MessageBody: body,
      ...orderOf(message, queue),
      ...(Object.keys(attributes).length === 0 ? {} : { MessageAttributes: attributes }),
      ...(typeof trace === "string" ? { MessageSystemAttributes: { AWSTraceHeader: text(trace) } } : {}),
    } as SqsOutbound["entry"],
  };
}
