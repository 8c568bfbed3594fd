import { unreadable } from "@/lib/brokers/conventions/read-dead-letter";
import type { KafkaRecord, RecordBatch } from "@/lib/brokers/kafka/record-batch";
import { HeaderView, type Message, storedHeader, textOrNull } from "@/lib/brokers/message";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

/** Where a record was read. A topic that is deleted and made again counts from 0 again, under another id. */
export type Place = { topic: string; topicId: string; partition: number };

/** Id of the schema in the envelope of a schema registry: a zero byte, 4 bytes of id, the content. */
function schemaIdOf(bytes: Buffer | null): number | null {
  return bytes !== null && bytes.length > 5 && bytes[0] === 0 ? bytes.readInt32BE(1) : null;
}

function ownId({ topicId, partition }: Place, offset: bigint): string {
  return `kafka-${topicId}-${partition}-${offset}`;
}

/** A record as the conventions read it. `offset`, `partition` and `topic` of the origin are set by a convention alone. */
export function kafkaMessage(record: KafkaRecord, place: Place): Message {
  const { key, value, headers, offset, timestampMs, isAppendTime } = record;
  const { topic, partition } = place;
  const orderKey = key === null ? null : textOrNull(key);
  /** Names that are no UTF-8 text: their bytes stand in the origin. */
  const binaryNames: [shown: string, base64: string][] = [];
  const named = headers.map(([bytes, content]): [string, Buffer | null] => {
    const name = textOrNull(bytes);
    if (name !== null) return [name, content];
    const base64 = bytes.toString("base64");
    binaryNames.push([`base64:${base64}`, base64]);
    return [`base64:${base64}`, content];
  });
  const view = new HeaderView(named);
  const schemaIds = Object.entries({ key: schemaIdOf(key), value: schemaIdOf(value) }).filter(([, id]) => id !== null);
  const properties = (): Record<string, string> => ({
    topic,
    partition: String(partition),
    offset: String(offset),
    timestamp: String(timestampMs),
    ...(key === null ? {} : { key: orderKey ?? key.toString("base64") }),
  });
  return {
    container: topic,
    headers: view,
    storedHeaders: () => named.map(([name, content]) => storedHeader(name, content)),
    body: value,
    messageId: null,
    type: null,
    contentType: view.text("content-type"),
    sentAtMs: timestampMs >= 0 ? timestampMs : null,
    orderKey,
    property: (name) => properties()[name] ?? null,
    origin: {
      deadLetter: {
        topic,
        partition,
        offset: String(offset),
        ...(isAppendTime ? { storedAtMs: timestampMs } : {}),
      },
      key: key?.toString("base64") ?? null,
      properties: { timestampMs },
      ...(schemaIds.length === 0 ? {} : { schemaRegistry: Object.fromEntries(schemaIds) }),
      ...(binaryNames.length === 0 ? {} : { headerNames: Object.fromEntries(binaryNames) }),
    },
    ownId: () => ownId(place, offset),
  };
}

/** A batch that cannot be unpacked, parked whole: nobody knows its records. */
export function unreadableBatch(batch: RecordBatch, place: Place, problem: string): DeadLetter {
  const { baseOffset, lastOffset, raw } = batch;
  const deadLetter = { topic: place.topic, partition: place.partition, offset: String(baseOffset) };
  return unreadable({
    body: raw,
    headers: [],
    origin: { deadLetter: { ...deadLetter, lastOffset: String(lastOffset) }, recordBatch: true },
    ownId: () => `${ownId(place, baseOffset)}-batch`,
    problem: `record batch ${baseOffset} to ${lastOffset} of ${place.topic} [${place.partition}]: ${problem}`,
  });
}
