import { instantMs } from "@/lib/platform/plain/iso-time.pure";
import { storableText } from "@/lib/platform/plain/storable.pure";

/**
 * One header as it was on the wire. Headers are an ordered list: names repeat and order matters on Kafka and AMQP.
 * `text` is UTF-8 text. `bytes` is base64. `amqp` is JSON of a typed AMQP value (tables, timestamps, integers with their
 * width) or of a header of a Kombu envelope, so that a redrive can write the very same field again.
 */
export type Header =
  | [name: string, value: string | null]
  | [name: string, value: string | null, encoding: "text" | "bytes" | "amqp"];

/** A number or a boolean in the JSON of a typed value. */
const TYPED_SCALAR = /^(?:\{"!":"[a-z0-9]+","value":"?(-?[0-9.e+-]+)"?\}|(true|false|-?[0-9.e+-]+))$/;

/** The text of a stored header: typed numbers and booleans too; null for tables, lists, binary and absent values. */
export function headerText([, value, encoding = "text"]: Header): string | null {
  if (value === null || encoding === "bytes") return null;
  if (encoding === "text") return value;
  const scalar = TYPED_SCALAR.exec(value);
  return scalar?.[1] ?? scalar?.[2] ?? null;
}

/** The place where a message was before it was dead-lettered. Each convention may add fields of its own. */
export type Origin = {
  /** Parser that recognised the headers, e.g. `rabbitmq-x-death`, `spring-amqp`, `masstransit`. */
  convention?: string;
  /** The stored key of a Kafka record, base64; null = the record had none. Absent: the broker has no keys. */
  key?: string | null;
  /** The message had no body, which is not an empty one: a redrive sends none. */
  absentBody?: boolean;
  queue?: string;
  exchange?: string;
  routingKeys?: string[];
  topic?: string;
  partition?: number;
  offset?: string;
  messageGroup?: string;
  consumer?: string;
  /** AMQP basic properties to restore on redrive, or broker-specific facts. Display and publish only. */
  properties?: Record<string, unknown>;
  [further: string]: unknown;
};

/** Where a broker keeps the dead letter itself; empty when its origin does not say. */
export function deadLetterPlace({ deadLetter }: Origin): Record<string, unknown> {
  return (deadLetter ?? {}) as Record<string, unknown>;
}

/** Names an event among all that one redrive sends, on wires that know a message by its id. */
export function identityOf({ producer, eventId }: Pick<DeadLetter, "producer" | "eventId">): string {
  return producer === undefined ? eventId : `${producer}\0${eventId}`;
}

/** A record of a log, as receipts and dead letters name it: `orders [3] offset 330`. null = the origin names none. */
export function recordPlace({
  topic,
  partition,
  offset,
}: Pick<Origin, "topic" | "partition" | "offset">): string | null {
  if (topic === undefined || partition === undefined || offset === undefined) return null;
  return `${topic} [${partition}] offset ${offset}`;
}

export type DeadLetterError = { type: string | null; message: string | null; stack: string | null };

/**
 * Set when Parkade had sent this message before: it came back, so it is a bounce. Read from the `x-redrive-*` headers.
 */
export type RedriveMark = { redriveId: string; attempt: number };

/** The largest bigint is the place of events without a version in the line of their aggregate. */
export const VERSION_MAX = 2n ** 63n - 2n;

/**
 * One dead letter on its way into the store, from any source. Values that the message does not hold are null, never
 * guessed.
 */
export type DeadLetter = {
  eventId: string;
  /** Within which `eventId` is unique: `source` of a CloudEvent. Absent = the id is unique in its source of Parkade. */
  producer?: string;
  aggregateType: string | null;
  aggregateId: string | null;
  /** Version of the aggregate. An integer kept as text on the wire when beyond 2^53; bigint inside. */
  version: bigint | null;
  eventType: string | null;
  traceId: string | null;
  errorCode: string;
  error: DeadLetterError;
  /** Number of deliveries to the consumer before the message was dead-lettered. */
  attempts: number;
  failedAtMs: number | null;
  /** Byte for byte as received. */
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  tags: Record<string, string>;
  origin: Origin;
  redrive: RedriveMark | null;
  /**
   * The record that failed (`recordPlace`), of a letter with neither an id of its own nor a mark: if Parkade sent that
   * record, the letter is a bounce of its event. Absent = the letter is known by its id.
   */
  failedRecord?: string;
};

/** Facts of an event that cannot be read, as given: it is parked without them, and its origin shows them. */
export type Unread = { failedAt: string };

const UNREAD_CHARS_MAX = 100;

/** A time, or the text given instead. No dead letter is rejected for its time. */
export function readFailedAt(given: unknown): { failedAtMs: number | null; unread?: Unread } {
  const failedAtMs = instantMs(given);
  if (failedAtMs !== null || given === null || given === undefined || given === "") return { failedAtMs };
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return { failedAtMs, unread: { failedAt: storableText(text.slice(0, UNREAD_CHARS_MAX)) } };
}

/** Reads a scalar of the payload as text. `found` is also true for an object, an array and null. */
export type BodyReader = (pointer: string) => { found: boolean; text: string | null };
