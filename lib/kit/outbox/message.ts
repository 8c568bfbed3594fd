/** A header: null is a header without a value, which is not an empty one. Names may repeat. */
export type MessageHeader = readonly [name: string, value: Uint8Array | null];

/** One event as a transport sends it, the same for every broker. */
export type Message = {
  /** The event's id. A consumer deduplicates by it, so every repeat carries the same. */
  id: string;
  /** Decides the partition or the group: the event's key, else its aggregate's id. */
  key: string;
  body: Uint8Array;
  headers: readonly MessageHeader[];
  /** Topic, queue, subject, stream or URL, as the transport reads it. */
  destination: string;
  eventType: string;
  aggregateType: string;
  aggregateId: string;
};

/**
 * The result of one message. `permanent`: it can never be sent as it is (too large, refused by its schema), so the event
 * is FAILED at once. `outage`: its receiver cannot be reached, so the attempt does not count. `untried`: its send was not
 * begun, so it is free at once. `retryAfterMs`: the receiver asked for this wait.
 */
export type MessageResult =
  | { ok: true }
  | { ok: false; error: unknown; permanent?: boolean; outage?: boolean; untried?: boolean; retryAfterMs?: number };

export interface Transport {
  /**
   * Sends messages and resolves with one result for each, in the same order, when the receiver has stored or refused each.
   * Rejects when the receiver as a whole cannot be reached: no attempt of an event is counted then.
   *
   * When `signal` aborts it ends the sends under way and resolves at once with what is known: what it does not say is
   * sent again. After `beginNoMore` aborts, half of the time before, it begins no further send: those are `untried`.
   */
  publishMany(messages: readonly Message[], signal: AbortSignal, beginNoMore?: AbortSignal): Promise<MessageResult[]>;
  /** One call may hold several messages of a key, stored in order and none behind a failed one. Otherwise one message of an aggregate at a time. */
  readonly keepsOrder?: boolean;
}

/** A header of an event to insert: text, bytes, or null. */
export type HeaderInput = readonly [name: string, value: string | Uint8Array | null];

/** The stored form of a header: `[name, text]`, `[name, null]` or `[name, base64, "bytes"]`. */
type StoredHeader = [string, string | null] | [string, string, "bytes"];

export function storedHeaders(headers: readonly HeaderInput[]): StoredHeader[] {
  return headers.map(([name, value]) =>
    value instanceof Uint8Array ? [name, Buffer.from(value).toString("base64"), "bytes"] : [name, value],
  );
}

export function messageHeaders(stored: readonly StoredHeader[]): MessageHeader[] {
  return stored.map(([name, value, encoding]) => [
    name,
    value === null ? null : Buffer.from(value, encoding === "bytes" ? "base64" : "utf8"),
  ]);
}

/** The header that carries the event's id where a broker has no field for it: a consumer's inbox reads it. */
export const EVENT_ID_HEADER = "event-id";
/** The version of the aggregate after the event, in digits. */
export const EVENT_VERSION_HEADER = "event-version";

/** The value of the first header of this name as text; null when there is none. */
export function headerText(headers: readonly MessageHeader[], name: string): string | null {
  const value = headers.find(([each]) => each.toLowerCase() === name)?.[1];
  return value === undefined || value === null ? null : Buffer.from(value).toString("utf8");
}
