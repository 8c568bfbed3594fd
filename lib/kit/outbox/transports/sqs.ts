import { EVENT_ID_HEADER, type Message, type MessageResult, type Transport } from "@/lib/kit/outbox/message";
import { failureOf, throwOutage, unfit, untried } from "@/lib/kit/outbox/transports/send-each";

type Attribute = { DataType: "String" | "Binary"; StringValue?: string; BinaryValue?: Uint8Array };

type Entry = {
  Id: string;
  MessageBody: string;
  MessageAttributes: Record<string, Attribute>;
  MessageGroupId?: string;
  MessageDeduplicationId?: string;
};

/** `new SQS(...)` of @aws-sdk/client-sqs, by shape. */
type SqsClient = {
  sendMessageBatch(
    input: { QueueUrl: string; Entries: Entry[] },
    options?: { abortSignal?: AbortSignal },
  ): Promise<{ Failed?: { Id?: string; Code?: string; Message?: string; SenderFault?: boolean }[] }>;
};

/** Limits of SQS. */
const BATCH = 10;
const BATCH_BYTES_MAX = 262_144;
const ATTRIBUTES_MAX = 10;

/**
 * Sends through the user's own client, ten at a time. A destination is the URL of a queue; one that ends in `.fifo` gets the
 * key as its group and the event's id against duplicates. SQS carries text: a body that is no UTF-8 goes as base64, with
 * the attribute `content-encoding: base64`.
 */
export function sqsTransport(client: SqsClient): Transport {
  return {
    publishMany: async (messages, signal, beginNoMore = signal) => {
      const results = new Map<Message, MessageResult>();
      for (const [queueUrl, ofQueue] of Map.groupBy(messages, ({ destination }) => destination)) {
        for (const batch of batchesOf(ofQueue, results)) {
          if (!beginNoMore.aborted) await sendBatch(client, { queueUrl, batch, results, signal });
        }
      }
      const inOrder = messages.map((message) => results.get(message) ?? untried(beginNoMore));
      throwOutage(inOrder);
      return inOrder;
    },
  };
}

type Batch = { message: Message; entry: Entry }[];

/** At most ten entries and 256 KiB; a message that SQS cannot carry gets its result here. */
function batchesOf(messages: readonly Message[], results: Map<Message, MessageResult>): Batch[] {
  const batches: Batch[] = [];
  let bytes = 0;
  for (const message of messages) {
    const entry = entryOf(message);
    if ("ok" in entry) {
      results.set(message, entry);
      continue;
    }
    const size = Buffer.byteLength(JSON.stringify(entry));
    const last = batches.at(-1);
    if (last === undefined || last.length === BATCH || bytes + size > BATCH_BYTES_MAX) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push({ message, entry });
    bytes += size;
  }
  return batches;
}

function entryOf(message: Message): Entry | MessageResult {
  const attributes: Record<string, Attribute> = { [EVENT_ID_HEADER]: { DataType: "String", StringValue: message.id } };
  for (const [name, value] of message.headers) {
    // SQS has no attribute without a value.
    if (value === null || value.length === 0) continue;
    if (name in attributes)
      return unfit(`SQS accepts each attribute once: header ${name} of event ${message.id} occurs twice`);
    attributes[name] = isText(value)
      ? { DataType: "String", StringValue: Buffer.from(value).toString("utf8") }
      : { DataType: "Binary", BinaryValue: value };
  }
  const text = isText(message.body);
  if (!text) attributes["content-encoding"] = { DataType: "String", StringValue: "base64" };
  if (Object.keys(attributes).length > ATTRIBUTES_MAX) {
    return unfit(`SQS accepts ${ATTRIBUTES_MAX} attributes: event ${message.id} has ${Object.keys(attributes).length}`);
  }
  return {
    Id: "0",
    MessageBody: Buffer.from(message.body).toString(text ? "utf8" : "base64"),
    MessageAttributes: attributes,
    ...(message.destination.endsWith(".fifo")
      ? { MessageGroupId: message.key, MessageDeduplicationId: message.id }
      : {}),
  };
}

/** Characters outside of XML 1.0 are refused by SQS. */
function isText(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString("utf8");
  return (
    bytes.length > 0 &&
    Buffer.from(text, "utf8").equals(bytes) &&
    /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u.test(text)
  );
}

type Sending = { queueUrl: string; batch: Batch; results: Map<Message, MessageResult>; signal: AbortSignal };

async function sendBatch(client: SqsClient, { queueUrl, batch, results, signal }: Sending): Promise<void> {
  try {
    const entries = batch.map(({ entry }, at) => ({ ...entry, Id: String(at) }));
    const { Failed = [] } = await client.sendMessageBatch(
      { QueueUrl: queueUrl, Entries: entries },
      { abortSignal: signal },
    );
    const failed = new Map(Failed.map((failure) => [Number(failure.Id), failure]));
    for (const [at, { message }] of batch.entries()) {
      const failure = failed.get(at);
      const error = failure && new Error(`${failure.Code}: ${failure.Message}`);
      results.set(message, failure ? { ok: false, error, permanent: failure.SenderFault === true } : { ok: true });
    }
  } catch (error) {
    // The queue does not exist, or no connection: of all queues this one alone may be meant.
    for (const { message } of batch) results.set(message, failureOf(error));
  }
}
