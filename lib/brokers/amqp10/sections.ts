import {
  type AmqpValue,
  AmqpValueError,
  encodeElements,
  encodeValue,
  readElements,
  readValue,
  sized,
} from "@/lib/brokers/amqp10/value";

/** The fields of the properties section, in their order on the wire. */
export const PROPERTIES = [
  "messageId",
  "userId",
  "to",
  "subject",
  "replyTo",
  "correlationId",
  "contentType",
  "contentEncoding",
  "absoluteExpiryTime",
  "creationTime",
  "groupId",
  "groupSequence",
  "replyToGroupId",
] as const;
export type PropertyName = (typeof PROPERTIES)[number];
export type Properties = Partial<Record<PropertyName, AmqpValue>>;

const HEADER = 0x70;
const DELIVERY_ANNOTATIONS = 0x71;
const ANNOTATIONS = 0x72;
const PROPERTY_LIST = 0x73;
const APPLICATION = 0x74;
export const DATA = 0x75;
const SEQUENCE = 0x76;
export const VALUE = 0x77;

const BY_SYMBOL: Record<string, number> = {
  "amqp:header:list": HEADER,
  "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
  "amqp:message-annotations:map": ANNOTATIONS,
  "amqp:properties:list": PROPERTY_LIST,
  "amqp:application-properties:map": APPLICATION,
  "amqp:data:binary": DATA,
  "amqp:amqp-sequence:list": SEQUENCE,
  "amqp:amqp-value:*": VALUE,
  "amqp:footer:map": 0x78,
};

/** One section of a body, with its bytes as they were, descriptor included. */
export type BodySection = { kind: typeof DATA | typeof SEQUENCE | typeof VALUE; content: AmqpValue; bytes: Buffer };

/** A message of AMQP 1.0, without what belongs to one delivery alone (delivery annotations, footer). */
export type Sections = {
  priority: AmqpValue | undefined;
  /** How often the broker handed it out before without success. */
  deliveryCount: number;
  annotations: [name: string, value: AmqpValue][];
  properties: Properties;
  application: [name: string, value: AmqpValue][];
  body: BodySection[];
};

function pairs(elements: AmqpValue[]): [string, AmqpValue][] {
  const found: [string, AmqpValue][] = [];
  for (let index = 0; index + 1 < elements.length; index += 2) {
    const key = elements[index]!;
    // Annotations may have numbers as keys, which are reserved; no application can have written them.
    if (key.type === "string" || key.type === "symbol") found.push([key.value, elements[index + 1]!]);
  }
  return found;
}

/** What section begins there, and where its content is. Throws AmqpValueError. */
function descriptorAt(bytes: Buffer, at: number): { code: number | undefined; start: number } {
  if (bytes[at] !== 0) throw new AmqpValueError("a section has no descriptor");
  const { value, end: start } = readValue(bytes, at + 1);
  return { code: value.type === "symbol" ? BY_SYMBOL[value.value] : Number((value as { value: bigint }).value), start };
}

/** The bytes without header and delivery annotations, which change with each delivery; as far as the message parses. */
export function withoutDelivery(bytes: Buffer): Buffer {
  let at = 0;
  try {
    while (at < bytes.length) {
      const { code, start } = descriptorAt(bytes, at);
      if (code !== HEADER && code !== DELIVERY_ANNOTATIONS) break;
      at = readValue(bytes, start).end;
    }
  } catch {
    // What does not parse is left as it is.
  }
  return bytes.subarray(at);
}

/** The sections of a message. Throws AmqpValueError. */
export function readSections(bytes: Buffer): Sections {
  const sections: Sections = {
    priority: undefined,
    deliveryCount: 0,
    annotations: [],
    properties: {},
    application: [],
    body: [],
  };
  let at = 0;
  while (at < bytes.length) {
    const { code, start } = descriptorAt(bytes, at);
    const { value: content, end } = readValue(bytes, start);
    if (code === HEADER) {
      const [, priority, , , deliveryCount] = readElements(bytes, start);
      sections.priority = priority;
      if (deliveryCount?.type === "uint") sections.deliveryCount = deliveryCount.value;
    } else if (code === ANNOTATIONS) sections.annotations = pairs(readElements(bytes, start));
    else if (code === APPLICATION) sections.application = pairs(readElements(bytes, start));
    else if (code === PROPERTY_LIST) {
      for (const [index, value] of readElements(bytes, start).entries())
        if (value.type !== "null" && PROPERTIES[index] !== undefined) sections.properties[PROPERTIES[index]] = value;
    } else if (code === DATA || code === SEQUENCE || code === VALUE)
      sections.body.push({ kind: code, content, bytes: Buffer.from(bytes.subarray(at, end)) });
    at = end;
  }
  return sections;
}

const section = (code: number, content: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0x53, code]), content]);

export const dataSection = (bytes: Uint8Array): Buffer => section(DATA, sized("binary", Buffer.from(bytes)));
export const valueSection = (value: AmqpValue): Buffer => section(VALUE, encodeValue(value));

/** The bytes of a message: durable, without a time to live. `body`: sections that are encoded already. */
export function writeSections(
  message: Pick<Sections, "priority" | "annotations" | "properties" | "application"> & { body: Buffer },
): Buffer {
  const { priority = { type: "null" }, annotations, properties, application, body } = message;
  const list = (elements: AmqpValue[]) => encodeElements(elements, { map: false });
  const map = (entries: [string, AmqpValue][], type: "string" | "symbol") =>
    encodeElements(
      entries.flatMap(([name, value]): AmqpValue[] => [{ type, value: name }, value]),
      { map: true },
    );
  return Buffer.concat([
    section(HEADER, list([{ type: "boolean", value: true }, priority])),
    ...(annotations.length === 0 ? [] : [section(ANNOTATIONS, map(annotations, "symbol"))]),
    section(PROPERTY_LIST, list(PROPERTIES.map((name) => properties[name] ?? { type: "null" }))),
    ...(application.length === 0 ? [] : [section(APPLICATION, map(application, "string"))]),
    body,
  ]);
}
