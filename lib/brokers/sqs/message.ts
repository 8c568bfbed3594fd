import type { Message as Received } from "@aws-sdk/client-sqs";
import { REDRIVE_ATTEMPT, REDRIVE_EVENT_ID, REDRIVE_FROM, REDRIVE_ID } from "@/lib/brokers/conventions/redrive-mark";
import { type HeaderValue, HeaderView, type Message } from "@/lib/brokers/message";
import { isFifo } from "@/lib/brokers/sqs/kind.shapes";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";

/** The four marks in one JSON attribute, for a message with no room for four: SQS takes ten attributes. */
export const PACKED_MARK = "x-redrive-mark";
export const MARKS = [REDRIVE_ID, REDRIVE_ATTEMPT, REDRIVE_FROM, REDRIVE_EVENT_ID] as const;

function unpacked(value: HeaderValue): [string, HeaderValue][] {
  try {
    const values: unknown = JSON.parse(String(value));
    if (!Array.isArray(values) || values.length !== MARKS.length) return [];
    return MARKS.map((name, index) => [name, String(values[index])]);
  } catch {
    return []; // written by somebody else
  }
}

/** `arn:aws:sqs:eu-central-1:123456789012:orders` -> `orders`; null for the name of anything else. */
function queueOfArn(arn: string | null | undefined): string | null {
  return /^arn:[^:]+:sqs:[^:]*:[^:]*:([^:]+)$/.exec(arn ?? "")?.[1] ?? null;
}

/**
 * A received message as the conventions read it. A header is an attribute; types other than String and Binary are kept in
 * `origin.properties.attributeTypes`, so that a redrive writes the same ones.
 */
export function sqsMessage(received: Received, container: string): Message {
  const { MessageId = "", Body = "", MessageAttributes = {}, Attributes = {} } = received;
  const attributes = Object.entries(MessageAttributes);
  const attributeTypes: Record<string, string> = {};
  const view: [string, HeaderValue][] = [];
  const headers: Header[] = [];
  for (const [name, { DataType = "String", BinaryValue, StringValue = "" }] of attributes) {
    const isBinary = BinaryValue !== undefined;
    if (DataType !== (isBinary ? "Binary" : "String")) attributeTypes[name] = DataType;
    view.push([name, isBinary ? BinaryValue : StringValue]);
    headers.push(isBinary ? [name, Buffer.from(BinaryValue).toString("base64"), "bytes"] : [name, StringValue]);
    if (name === PACKED_MARK) view.push(...unpacked(StringValue));
  }
  const group = Attributes.MessageGroupId;
  const queue = queueOfArn(Attributes.DeadLetterQueueSourceArn);
  const properties: Record<string, unknown> = { MessageId, ...Attributes };
  const sentAtMs = Number(Attributes.SentTimestamp);
  return {
    container,
    headers: new HeaderView(view),
    storedHeaders: () => headers,
    body: Buffer.from(Body, "utf8"),
    messageId: MessageId,
    type: null,
    contentType: null,
    sentAtMs: Number.isFinite(sentAtMs) ? sentAtMs : null,
    // The group of a standard queue shares it out fairly, and orders nothing.
    orderKey: isFifo(container) ? (group ?? null) : null,
    property: (name) => (typeof properties[name] === "string" ? properties[name] : null),
    origin: {
      deadLetter: { queue: container },
      ...(queue === null ? {} : { queue }),
      ...(group === undefined ? {} : { messageGroup: group }),
      properties: Object.keys(attributeTypes).length === 0 ? properties : { ...properties, attributeTypes },
    },
    ownId: () => MessageId,
  };
}
