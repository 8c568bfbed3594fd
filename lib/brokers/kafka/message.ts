import { unreadable } from "@/lib/brokers/conventions/read-dead-letter";
import type { KafkaRecord, RecordBatch } from "@/lib/brokers/kafka/record-batch";
import { HeaderView, type Message, textOrNull } from "@/lib/brokers/message";
import type { DeadLetter, Header } from "@/lib/core/dead-letter";

/** Where a record was read. A topic that is deleted and made again counts from 0 again, under another id. */
export type Place = { topic: string; topicId: string; partition: number };

/** Name of a header whose bytes are no UTF-8 text: the bytes stand in `origin.headerNames`. */
function shownName(name: Buffer): string {
  return textOrNull(name) ?? `base64:${name.toString("base64")}`;
}

function storedHeaders(headers: KafkaRecord["headers"]): Header[] {
  return headers.map(([name, value]) => {
    const text = value === null ? null : textOrNull(value);
    return value === null || text !== null
      ? [shownName(name), text]
      : [shownName(name), value.toString("base64"), "bytes"];
  });
}

/** Id of the schema in the envelope of a schema registry: a zero byte, 4 bytes of id, the content. */
function schemaIdOf(bytes: Buffer | null): number | null {
  return bytes !== null && bytes.length > 5 && bytes[0] === 0 ? bytes.readInt32BE(1) : null;
}

function ownId({ topicId, partition }: Place, offset: bigint): string {
  return `kafka-${topicId}-${partition}-${offset}`;
}

/** A record as the conventions read it. `offset`, `partition` and `topic` of the origin are set by a convention alone. */
export function kafkaMessage(record: KafkaRecord, place: Place): Message {
  const { key, value, headers } = record;
  const deadLetter = { topic: place.topic, partition: place.partition, offset: String(record.offset) };
  const schemaIds = Object.entries({ key: schemaIdOf(key), value: schemaIdOf(value) }).filter(([, id]) => id !== null);
  const binaryNames = headers.filter(([name]) => textOrNull(name) === null);
  const view = new HeaderView(headers.map(([name, content]) => [shownName(name), content]));
  const properties: Record<string, string> = {
    topic: place.topic,
    partition: String(place.partition),
    offset: String(record.offset),
    timestamp: String(record.timestampMs),
    ...(key === null ? {} : { key: textOrNull(key) ?? key.toString("base64") }),
  };
  return {
    container: place.topic,
    headers: view,
    storedHeaders: () => storedHeaders(headers),
    body: value,
    messageId: null,
    type: null,
    contentType: view.text("content-type"),
    sentAtMs: record.timestampMs >= 0 ? record.timestampMs : null,
    orderKey: key === null ? null : textOrNull(key),
    property: (name) => properties[name] ?? null,
    origin: {
      deadLetter,
      key: key?.toString("base64") ?? null,
      properties: { timestampMs: record.timestampMs },
      ...(schemaIds.length === 0 ? {} : { schemaRegistry: Object.fromEntries(schemaIds) }),
      ...(binaryNames.length === 0
        ? {}
        : { headerNames: Object.fromEntries(binaryNames.map(([name]) => [shownName(name), name.toString("base64")])) }),
    },
    ownId: () => ownId(place, record.offset),
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
