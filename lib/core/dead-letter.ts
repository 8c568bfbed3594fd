/**
 * One header as it was on the wire. Headers are an ordered list: names repeat and order matters on Kafka and AMQP.
 * `text` is UTF-8 text. `bytes` is base64. `amqp` is JSON of a typed AMQP field value (tables, timestamps, integers
 * with their width), so that a redrive can rebuild the very same field.
 */
export type Header =
  | [name: string, value: string | null]
  | [name: string, value: string | null, encoding: "text" | "bytes" | "amqp"];

/** Where a dead letter was before it died. Free-form beyond these: each convention adds what it knows. */
export type Origin = {
  /** Parser that recognised the headers, e.g. `rabbitmq-x-death`, `spring-amqp`, `masstransit`. */
  convention?: string;
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

export type DeadLetterError = { type: string | null; message: string | null; stack: string | null };

/** Marks a dead letter that Parkade itself had sent: it came back, so it is a bounce. From the `x-redrive-*` headers. */
export type RedriveMark = { redriveId: string; attempt: number };

/** One dead letter on its way into the store, from any source. Absent facts are null, never invented. */
export type DeadLetter = {
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  /** Version of the aggregate. An integer kept as text on the wire when beyond 2^53; bigint inside. */
  version: bigint | null;
  eventType: string | null;
  traceId: string | null;
  errorCode: string;
  error: DeadLetterError;
  /** Deliveries the consumer had made before parking it. */
  attempts: number;
  failedAtMs: number | null;
  /** Byte for byte as received. */
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  tags: Record<string, string>;
  origin: Origin;
  redrive: RedriveMark | null;
};
