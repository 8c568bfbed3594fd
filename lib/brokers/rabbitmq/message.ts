import { createHash } from "node:crypto";
import { deathsOf } from "@/lib/brokers/conventions/x-death";
import { type HeaderValue, HeaderView, type Message } from "@/lib/brokers/message";
import { type BasicProperties, encodeProperties, shortText } from "@/lib/brokers/rabbitmq/basic-properties";
import { toHeader } from "@/lib/brokers/rabbitmq/field-header";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

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

/** Headers that a quorum queue writes anew at each delivery: how often it has handed the message out before. */
const DELIVERY_COUNTS = new Set(["x-delivery-count", "x-acquired-count"]);

/** The same for each delivery of one message. An empty header table counts as none: the count may stand alone in it. */
function encodedOnce({ headers = [], ...properties }: BasicProperties): Buffer {
  const own = headers.filter(([name]) => !DELIVERY_COUNTS.has(name));
  return encodeProperties(own.length === 0 ? properties : { ...properties, headers: own });
}

/** A count as a field of a table: a byte with the length of its name, the name, the type's tag, and a number of that type. */
const COUNT_FIELD = /.x-(?:delivery|acquired)-count(?:[bB]|[su].|[Ii].{3}|[lT].{7})./gs;

/**
 * As `encodedOnce`, of a property list that does not parse: without the counts and the length of the header table, which
 * they change. The table comes after the flags and, if the flags name them, two short texts.
 */
function rawOnce(list: Buffer): Buffer {
  if (list.length < 2) return list;
  let table = 2;
  for (const flag of [0x80, 0x40]) if ((list[0]! & flag) !== 0) table += 1 + (list[table] ?? 0);
  const rest = list.toString("latin1", table + 4).replace(COUNT_FIELD, "");
  return Buffer.concat([list.subarray(0, table), Buffer.from(rest, "latin1")]);
}

/**
 * Id of a message that carries none: a hash of all its facts, including when and where it was dead-lettered, but for those
 * that change with each delivery. Two messages get one id only when they are equal in every byte and were dead-lettered in
 * the same second in the same place. `list`: the raw bytes of properties that do not parse.
 */
export function hashId(
  { exchange, routingKey }: { exchange: string; routingKey: string },
  list: BasicProperties | Buffer,
  body: Uint8Array,
): string {
  const hash = createHash("sha256");
  for (const part of [exchange, routingKey]) hash.update(part).update("\u0000");
  hash.update(Buffer.isBuffer(list) ? rawOnce(list) : encodedOnce(list));
  return `sha256-${hash.update("\u0000").update(body).digest("hex")}`;
}

type Place = { container: string; deadLetter: unknown };

/** Properties and body of an AMQP 0-9-1 message, as the conventions read them. `deadLetter` is where it was read. */
export function amqpMessage(
  { properties, body }: { properties: BasicProperties; body: Uint8Array },
  { container, deadLetter }: Place,
): Message {
  const { exchange = "", routingKey = "" } = deadLetter as { exchange?: string; routingKey?: string };
  const headers = headerViewOf(properties.headers);
  // Of the broker, in whole seconds; a redrive leaves out the deaths before it.
  const storedAtMs = deathsOf(headers)[0]?.timeMs ?? null;
  const letter = storedAtMs === null ? deadLetter : { ...(deadLetter as object), storedAtMs };
  const origin: Origin = { deadLetter: letter, properties: storedProperties(properties) };
  return {
    container,
    headers,
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
    ownId: () => hashId({ exchange, routingKey }, properties, body),
  };
}
