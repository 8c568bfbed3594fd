import { createHash } from "node:crypto";
import { type HeaderValue, HeaderView, type Message } from "@/lib/brokers/message";
import { type BasicProperties, encodeProperties, shortText } from "@/lib/brokers/rabbitmq/basic-properties";
import { toHeader } from "@/lib/brokers/rabbitmq/field-header";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { Origin } from "@/lib/core/dead-letter";

/** A field as the conventions read it: all integers alike, strings with bytes that are no text as bytes. */
export function headerValueOf(field: FieldValue): HeaderValue {
  switch (field.type) {
    case "void":
      return null;
    case "array":
      return field.value.map(headerValueOf);
    case "table":
      return { table: field.value.map(([name, value]) => [name, headerValueOf(value)]) };
    case "decimal":
      return field.digits / 10 ** field.places;
    default:
      return field.value;
  }
}

export function headerViewOf(table: FieldTable | undefined): HeaderView {
  return new HeaderView((table ?? []).map(([name, value]) => [name, headerValueOf(value)]));
}

/** Properties as JSON, without the headers, which have a column of their own. */
function storedProperties({ headers: _, timestamp, ...rest }: BasicProperties): Record<string, unknown> {
  return { ...rest, ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }) };
}

/**
 * Id of a message that carries none: a hash of all its facts, including when and where it was dead-lettered. Two messages
 * get one id only when they are equal in every byte and were dead-lettered in the same second in the same place; a message
 * that is delivered twice gets the same id twice.
 */
export function hashId(place: { exchange: string; routingKey: string }, list: Uint8Array, body: Uint8Array): string {
  const hash = createHash("sha256");
  for (const part of [place.exchange, place.routingKey]) hash.update(part).update("\u0000");
  return `sha256-${hash.update(list).update("\u0000").update(body).digest("hex")}`;
}

type Place = { container: string; deadLetter: unknown };

/** Properties and body of an AMQP 0-9-1 message, as the conventions read them. `deadLetter` is where it was read. */
export function amqpMessage(
  { properties, body }: { properties: BasicProperties; body: Uint8Array },
  { container, deadLetter }: Place,
): Message {
  const { exchange = "", routingKey = "" } = deadLetter as { exchange?: string; routingKey?: string };
  const origin: Origin = { deadLetter, properties: storedProperties(properties) };
  return {
    container,
    headers: headerViewOf(properties.headers),
    storedHeaders: () => (properties.headers ?? []).map(([name, value]) => toHeader(name, value)),
    body,
    messageId: shortText(properties.messageId),
    type: shortText(properties.type),
    contentType: shortText(properties.contentType),
    sentAtMs: properties.timestamp === undefined ? null : Number(properties.timestamp) * 1000,
    orderKey: null,
    property: (name) => {
      if (name === "exchange" || name === "routingKey") return name === "exchange" ? exchange : routingKey;
      const value = properties[name as keyof BasicProperties];
      if (typeof value === "number" || typeof value === "bigint") return String(value);
      return typeof value === "string" && value !== "" ? value : null;
    },
    origin,
    ownId: () => hashId({ exchange, routingKey }, encodeProperties(properties), body),
  };
}
