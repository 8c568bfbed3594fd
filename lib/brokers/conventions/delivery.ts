import { type BasicProperties, shortText } from "@/lib/brokers/amqp/basic-properties";
import { type FieldTable, type FieldValue, textOrNull } from "@/lib/brokers/amqp/field-table";
import type { DeadLetterError, Origin } from "@/lib/core/dead-letter";

/** A message as a broker delivered it, before its convention is detected. */
export type Delivery = {
  /** Exchange and routing key it reached the dead-letter queue with, not those it was first published with. */
  exchange: string;
  routingKey: string;
  properties: BasicProperties;
  body: Uint8Array;
};

/** A delivery as one convention reads it. Facts that the message does not state are null or absent. */
export type Reading = {
  convention: string;
  origin: Origin;
  error: DeadLetterError;
  /** Exception types from the outermost to the innermost, for the error code. */
  exceptionTypes: string[];
  /** Why it was dead-lettered, in the word of the broker or framework: `rejected`, `expired`, `dead-letter` ... */
  reason: string | null;
  /** Deliveries to a consumer before it was dead-lettered, by its headers. */
  attempts: number;
  failedAtMs: number | null;
  /** The framework's own message id and message type; they precede the AMQP properties. */
  messageId: string | null;
  eventType: string | null;
  /** Set when the original message was wrapped: the message inside, to be parked instead of the wrapper. */
  inner: { properties: BasicProperties; body: Uint8Array } | null;
};

/** Case-insensitive, read-only view of a header table. The first of several equal names counts. */
export class HeaderView {
  private readonly byName = new Map<string, FieldValue>();

  constructor(table: FieldTable) {
    for (const [name, value] of table) {
      const key = name.toLowerCase();
      if (!this.byName.has(key)) this.byName.set(key, value);
    }
  }

  has(name: string): boolean {
    return this.byName.has(name.toLowerCase());
  }

  field(name: string): FieldValue | null {
    return this.byName.get(name.toLowerCase()) ?? null;
  }

  /** The value as text when it has a text form (strings, numbers, booleans, UTF-8 bytes), else null. Never empty. */
  text(name: string): string | null {
    const field = this.field(name);
    const text = field === null ? null : fieldText(field);
    return text === null || text.trim() === "" ? null : text;
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

  *names(): Iterable<string> {
    yield* this.byName.keys();
  }
}

export function fieldText(field: FieldValue): string | null {
  switch (field.type) {
    case "longstr":
      return field.value;
    case "longstr-bytes":
    case "bytes":
      return textOrNull(field.value);
    case "bool":
    case "int8":
    case "uint8":
    case "int16":
    case "uint16":
    case "int32":
    case "uint32":
    case "int64":
    case "timestamp":
    case "float":
    case "double":
      return String(field.value);
    default:
      return null;
  }
}

/** A delivery with its headers made searchable, and the queue it was read from. */
export type DeliveryView = {
  delivery: Delivery;
  headers: HeaderView;
  /** The dead-letter queue. */
  queue: string;
};

export function viewOf(delivery: Delivery, queue: string): DeliveryView {
  return { delivery, queue, headers: new HeaderView(delivery.properties.headers ?? []) };
}

/** How one framework, or the broker itself, writes dead letters. */
export type Convention = {
  name: string;
  /** Whether a header (lower case) was added by the act of dead-lettering, and must not go back with a redrive. */
  owns(headerName: string): boolean;
  /** null: not this convention. */
  read(view: DeliveryView): Reading | null;
};

/** Text safe for PostgreSQL and JSON: no NUL, no lone surrogate. */
export function clean(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").toWellFormed();
}

/**
 * Instant of an ISO 8601 text as .NET and Java write it (up to nine fraction digits, zone optional: then UTC), epoch
 * milliseconds; null when it is none.
 */
export function instantMs(text: string | null): number | null {
  if (text === null) return null;
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text.trim());
  if (match === null) return null;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const ms = Date.parse(`${date}T${time}.${fraction.padEnd(3, "0").slice(0, 3)}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? null : ms;
}

/** `Acme.OrderPlaced, Acme, Version=1.0.0.0;Acme.IEvent, Acme` -> `Acme.OrderPlaced`. */
export function dotnetTypeName(text: string | null): string | null {
  const name = text?.split(/[,;]/, 1)[0]?.trim();
  return name ? name : null;
}

export function messageIdOf(properties: BasicProperties): string | null {
  return shortText(properties.messageId);
}
