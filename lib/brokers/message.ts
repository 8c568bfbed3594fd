import { isUtf8 } from "node:buffer";
import { type Header, headerText, type Origin } from "@/lib/platform/plain/dead-letter.pure";

/** A header value of any broker. AMQP timestamps are bigint seconds; tables keep their order and duplicate names. */
export type HeaderValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | HeaderValue[]
  | { table: [name: string, value: HeaderValue][] };

/** Without NUL. */
const ASCII = /^[^\0\u0080-\uffff]*$/;

/** UTF-8 text of the bytes, or null when they are no UTF-8 or hold a NUL, which PostgreSQL text cannot store. */
export function textOrNull(bytes: Uint8Array): string | null {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Nearly always, and half the time of the checks below.
  const text = buffer.toString("latin1");
  if (ASCII.test(text)) return text;
  return buffer.includes(0) || !isUtf8(buffer) ? null : buffer.toString("utf8");
}

/** Strings, numbers, booleans and UTF-8 bytes as text; null for everything else. */
export function textOfValue(value: HeaderValue): string | null {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return textOrNull(value);
  return value === null || typeof value === "object" ? null : String(value);
}

/** Case-insensitive, read-only view of the headers of a message. Of several equal names the first counts. */
export class HeaderView {
  private readonly byName = new Map<string, HeaderValue[]>();

  constructor(headers: Iterable<readonly [name: string, value: HeaderValue]>) {
    for (const [name, value] of headers) {
      const key = name.toLowerCase();
      const values = this.byName.get(key);
      if (values === undefined) this.byName.set(key, [value]);
      else values.push(value);
    }
  }

  has(name: string): boolean {
    return this.byName.has(name.toLowerCase());
  }

  all(name: string): readonly HeaderValue[] {
    return this.byName.get(name.toLowerCase()) ?? [];
  }

  value(name: string): HeaderValue {
    return this.byName.get(name.toLowerCase())?.[0] ?? null;
  }

  /** The value as text when it has a text form, else null. Never empty. */
  text(name: string): string | null {
    const value = this.value(name);
    return value === null ? null : visible(textOfValue(value));
  }

  /** As `text`, of the last value: a framework that adds a header at each failure writes the latest failure last. */
  lastText(name: string): string | null {
    return visible(textOfValue(this.all(name).at(-1) ?? null));
  }

  firstText(names: readonly string[]): string | null {
    for (const name of names) {
      const text = this.text(name);
      if (text !== null) return text;
    }
    return null;
  }

  /** A non-negative integer, from a number or decimal text; null otherwise. */
  count(name: string): number | null {
    const text = this.text(name);
    return text !== null && /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
  }

  names(): Iterable<string> {
    return this.byName.keys();
  }
}

function visible(text: string | null): string | null {
  return text === null || text.trim() === "" ? null : text;
}

/** A message as its broker delivered it, the same for every broker, before a convention reads it. */
export type Message = {
  /** The queue, topic, stream or table it was read from. */
  container: string;
  headers: HeaderView;
  /** The headers in their order and without loss, as they are stored. Built when asked for. */
  storedHeaders(): Header[];
  /** null: the broker delivered no body, which is not an empty one (a Kafka tombstone). */
  body: Uint8Array | null;
  /** The broker's own message id, message type and content type, null when the message has none. */
  messageId: string | null;
  type: string | null;
  contentType: string | null;
  /** When the broker says it was published, epoch milliseconds. */
  sentAtMs: number | null;
  /** The key that orders it: Kafka's record key, a FIFO group, as text; null when it has none or it is no text. */
  orderKey: string | null;
  /** A property of the broker's own by its name, for a mapping's `property:name`. */
  property(name: string): string | null;
  /** What a redrive needs to write the message again, and where it was read. Merged into the origin. */
  origin: Origin;
  /** Id of a message that carries none: stable across redeliveries, and different for two messages with equal bytes. */
  ownId(): string;
};

/** A header of bytes, as it is stored: text where it is text. */
export function storedHeader(name: string, value: Uint8Array | null): Header {
  if (value === null) return [name, null];
  const text = textOrNull(value);
  return text === null ? [name, Buffer.from(value).toString("base64"), "bytes"] : [name, text];
}

/** The bytes of a stored header on a wire that knows bytes alone. A typed AMQP value goes as its text, or as its JSON. */
export function headerBytes(header: Header): Buffer | null {
  const [, value, encoding = "text"] = header;
  if (value === null) return null;
  if (encoding === "bytes") return Buffer.from(value, "base64");
  return Buffer.from(encoding === "text" ? value : (headerText(header) ?? value), "utf8");
}
