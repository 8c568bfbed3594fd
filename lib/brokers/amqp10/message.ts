import { createHash } from "node:crypto";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import {
  type BodySection,
  DATA,
  PROPERTIES,
  type PropertyName,
  readSections,
  type Sections,
  VALUE,
  withoutDelivery,
} from "@/lib/brokers/amqp10/sections";
import type { AmqpValue } from "@/lib/brokers/amqp10/value";
import { textOf, toHeader, toJson } from "@/lib/brokers/amqp10/value";
import { readDeadLetter, unreadable } from "@/lib/brokers/conventions/read-dead-letter";
import { type HeaderValue, HeaderView, type Message } from "@/lib/brokers/message";
import type { DeadLetter, Origin } from "@/lib/platform/plain/dead-letter.pure";

/** How the payload is written again. `encoded`: as the body sections that were on the wire. A list: lengths of the joined data sections. */
export type BodyShape = "data" | "string" | "binary" | "null" | "encoded" | number[];

function payloadOf(body: readonly BodySection[]): { payload: Buffer | null; shape: BodyShape } {
  if (body.length === 0) return { payload: null, shape: "data" };
  if (body.every(({ kind, content }) => kind === DATA && content.type === "binary")) {
    const parts = body.map(({ content }) => (content as { value: Buffer }).value);
    return { payload: Buffer.concat(parts), shape: parts.length === 1 ? "data" : parts.map((part) => part.length) };
  }
  const [{ kind, content }] = body as [BodySection];
  if (body.length === 1 && kind === VALUE) {
    if (content.type === "null") return { payload: null, shape: "null" };
    if (content.type === "binary") return { payload: content.value, shape: "binary" };
    if (content.type === "string") return { payload: Buffer.from(content.value), shape: "string" };
  }
  return { payload: Buffer.concat(body.map(({ bytes }) => bytes)), shape: "encoded" };
}

function headerValue(value: AmqpValue): HeaderValue {
  if (value.type === "null") return null;
  return value.type === "encoded" ? new Uint8Array(value.value) : value.value;
}

/** Annotations of one stay in one queue: the next broker writes its own. Those of JMS, and an application's, go back. */
const BROKER_ANNOTATION =
  /^x-opt-(orig-.*|sequence-number|enqueued-time|enqueue-sequence-number|locked-until|deadletter-source|message-state|scheduled-enqueue-time|delivery-time|ingress-time|deaths)$|^x-(exchange|routing-key)$|^_amq_/i;

function keptAnnotations(annotations: Sections["annotations"]): Sections["annotations"] {
  return annotations.filter(([name]) => !BROKER_ANNOTATION.test(name));
}

function originOf(sections: Sections, shape: BodyShape, address: string): Origin {
  const properties: Record<string, unknown> = {};
  for (const name of PROPERTIES) {
    const value = sections.properties[name];
    if (value !== undefined) properties[name] = toJson(value);
  }
  const kept = keptAnnotations(sections.annotations).map(([name, value]) => [name, toJson(value)]);
  const group = textOf(sections.properties.groupId);
  // The number of the message in its queue, as Service Bus or Artemis names it: another send has another one.
  const numbered = ["x-opt-sequence-number", "x-opt-ORIG-MESSAGE-ID"];
  const sequence = textOf(sections.annotations.find(([name]) => numbered.includes(name))?.[1]);
  return {
    deadLetter: { address, ...(sequence === null ? {} : { sequence }) },
    properties,
    ...(sections.priority === undefined ? {} : { priority: toJson(sections.priority) }),
    ...(kept.length === 0 ? {} : { annotations: kept }),
    ...(shape === "data" ? {} : { body: shape }),
    ...(group === null ? {} : { messageGroup: group }),
  };
}

/** A message as the conventions read it. `property:NAME` is a property, `deliveryCount`, or an annotation. */
function amqp10Message(sections: Sections, address: string): Message {
  const { properties, application, annotations } = sections;
  const { payload, shape } = payloadOf(sections.body);
  const text = (name: PropertyName) => textOf(properties[name]) || null;
  const created = properties.creationTime;
  const headers = new HeaderView(application.map(([name, value]) => [name, headerValue(value)]));
  return {
    container: address,
    headers,
    storedHeaders: () => application.map(([name, value]) => toHeader(name, value)),
    body: payload,
    messageId: text("messageId"),
    type: text("subject"),
    contentType: text("contentType"),
    sentAtMs: created?.type === "timestamp" ? Number(created.value) : null,
    orderKey: text("groupId"),
    property: (name) => {
      if (name === "deliveryCount") return String(sections.deliveryCount);
      if ((PROPERTIES as readonly string[]).includes(name)) return text(name as PropertyName);
      return textOf(annotations.find(([key]) => key === name)?.[1]) || null;
    },
    origin: originOf(sections, shape, address),
    ownId: () => hashId(address, sections),
  };
}

/** Id of a message that carries none, from what redeliveries keep. Without a broker's sequence number, equal bytes are one message. */
function hashId(address: string, { annotations, properties, application, body }: Sections): string {
  const sequence = annotations.find(([name]) => name === "x-opt-sequence-number")?.[1];
  const facts = [address, toJson(sequence ?? { type: "null" }), properties, application].map((part) =>
    JSON.stringify(part, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  );
  const hash = createHash("sha256").update(facts.join("\u0000"));
  for (const { bytes } of body) hash.update(bytes);
  return `sha256-${hash.digest("hex")}`;
}

type Received = { letter: DeadLetter; deliveries: number };

/** Reads a message as it came. Never throws: one that cannot be parsed is parked with its bytes. */
export function receive(bytes: Buffer, { address, mapping = {} }: Pick<Amqp10Config, "address" | "mapping">): Received {
  let sections: Sections;
  try {
    sections = readSections(bytes);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const ownId = () => `sha256-${createHash("sha256").update(withoutDelivery(bytes)).digest("hex")}`;
    const origin = { deadLetter: { address }, properties: {} };
    return { letter: unreadable({ body: bytes, origin, ownId, problem, headers: [] }), deliveries: 0 };
  }
  return { letter: readDeadLetter(amqp10Message(sections, address), mapping), deliveries: sections.deliveryCount };
}
