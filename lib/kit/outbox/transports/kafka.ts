import { EVENT_ID_HEADER, type Message, type MessageResult, type Transport } from "@/lib/kit/outbox/message";
import { abortOf, failureOf, untried } from "@/lib/kit/outbox/transports/send-each";

type KafkaJsHeaders = Record<string, Buffer | Buffer[]>;

/** A producer of kafkajs, by shape. */
type KafkaJsProducer = {
  sendBatch(batch: {
    acks: number;
    topicMessages: { topic: string; messages: { key: Buffer; value: Buffer; headers: KafkaJsHeaders }[] }[];
  }): Promise<unknown>;
};

/** A producer of @platformatic/kafka without serializers, by shape. */
type PlatformaticProducer = {
  send(options: {
    acks: number;
    messages: { topic: string; key: Buffer; value: Buffer; headers: Map<Buffer, Buffer> }[];
  }): Promise<unknown>;
};

/**
 * Sends through the user's own producer, with acks of all replicas. A destination is a topic. The records of a key go to one
 * partition, and Kafka takes a partition's part of a request as a whole, so one call may hold many of a key. Give the
 * producer an idempotent configuration, else its own repeats may reorder.
 */
export function kafkaTransport(producer: KafkaJsProducer | PlatformaticProducer): Transport {
  const send = (messages: readonly Message[]) =>
    "sendBatch" in producer ? sendByKafkaJs(producer, messages) : sendByPlatformatic(producer, messages);
  return {
    keepsOrder: true,
    publishMany: async (messages, signal, beginNoMore = signal) => {
      try {
        await send(messages);
        return messages.map(() => ({ ok: true }));
      } catch (error) {
        const failure = failureOf(error) as Extract<MessageResult, { ok: false }>;
        if (failure.outage || (messages.length === 1 && !failure.permanent)) throw error;
        if (messages.length === 1) return [failure];
        return oneByOne(messages, send, { signal, beginNoMore });
      }
    },
  };
}

/** A record that is refused (too large, an unknown topic) spoils its whole request: each is tried alone. */
async function oneByOne(
  messages: readonly Message[],
  send: (messages: readonly Message[]) => Promise<unknown>,
  { signal, beginNoMore }: { signal: AbortSignal; beginNoMore: AbortSignal },
): Promise<MessageResult[]> {
  const ended = abortOf(signal);
  const behind = new Map<string, unknown>();
  const results: MessageResult[] = [];
  for (const message of messages) {
    const line = JSON.stringify([message.aggregateType, message.aggregateId]);
    if (beginNoMore.aborted || behind.has(line)) {
      results.push(behind.has(line) ? { ok: false, outage: true, error: behind.get(line) } : untried(beginNoMore));
      continue;
    }
    const result = await Promise.race([send([message]).then(() => ({ ok: true as const }), failureOf), ended]);
    results.push(result);
    if (!result.ok) behind.set(line, new Error(`event ${message.id} is earlier in order and was refused`));
  }
  return results;
}

function sendByKafkaJs(producer: KafkaJsProducer, messages: readonly Message[]): Promise<unknown> {
  const topics = Map.groupBy(messages, ({ destination }) => destination);
  const topicMessages = [...topics].map(([topic, ofTopic]) => ({
    topic,
    messages: ofTopic.map((message) => ({
      key: Buffer.from(message.key),
      value: bufferOf(message.body),
      headers: kafkaJsHeaders(message),
    })),
  }));
  return producer.sendBatch({ acks: -1, topicMessages });
}

/** kafkajs takes an object: repeats of a name as a list, and no null. */
function kafkaJsHeaders({ id, headers }: Message): KafkaJsHeaders {
  const named = Map.groupBy(headers, ([name]) => name);
  return {
    [EVENT_ID_HEADER]: Buffer.from(id),
    ...Object.fromEntries([...named].map(([name, values]) => [name, values.map(([, value]) => bufferOf(value))])),
  };
}

function sendByPlatformatic(producer: PlatformaticProducer, messages: readonly Message[]): Promise<unknown> {
  return producer.send({
    acks: -1,
    messages: messages.map((message) => ({
      topic: message.destination,
      key: Buffer.from(message.key),
      value: bufferOf(message.body),
      // A Map by Buffers keeps the order and repeats of names.
      headers: new Map([
        [Buffer.from(EVENT_ID_HEADER), Buffer.from(message.id)],
        ...message.headers.map(([name, value]): [Buffer, Buffer] => [
          Buffer.from(name),
          value === null ? (null as never) : bufferOf(value),
        ]),
      ]),
    })),
  });
}

function bufferOf(bytes: Uint8Array | null): Buffer {
  return bytes === null ? Buffer.alloc(0) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
