import { textOrNull } from "@/lib/brokers/message";
import { decodeTable, encodeTable, type FieldTable, FieldTableError } from "@/lib/brokers/rabbitmq/field-table";

/** A short string property. Base64 of the bytes when they are no UTF-8 text: nothing is replaced. */
export type ShortText = string | { base64: string };

/** The 14 basic properties of AMQP 0-9-1, exactly as present on the wire. `timestamp` counts seconds. */
export type BasicProperties = {
  contentType?: ShortText;
  contentEncoding?: ShortText;
  headers?: FieldTable;
  deliveryMode?: number;
  priority?: number;
  correlationId?: ShortText;
  replyTo?: ShortText;
  expiration?: ShortText;
  messageId?: ShortText;
  timestamp?: bigint;
  type?: ShortText;
  userId?: ShortText;
  appId?: ShortText;
  clusterId?: ShortText;
};

type Kind = "text" | "table" | "octet" | "time";

/** In flag order: the first is the highest bit. */
const LAYOUT: readonly [name: keyof BasicProperties, kind: Kind][] = [
  ["contentType", "text"],
  ["contentEncoding", "text"],
  ["headers", "table"],
  ["deliveryMode", "octet"],
  ["priority", "octet"],
  ["correlationId", "text"],
  ["replyTo", "text"],
  ["expiration", "text"],
  ["messageId", "text"],
  ["timestamp", "time"],
  ["type", "text"],
  ["userId", "text"],
  ["appId", "text"],
  ["clusterId", "text"],
];

const FLAG_FIRST = 0x8000;

/** Text of a property for display and mapping; null when absent or binary. */
export function shortText(value: ShortText | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function need(bytes: Buffer, at: number, length: number): void {
  if (at + length > bytes.length) throw new FieldTableError("property list ends in the middle of a value");
}

/** Decodes flags and property list of a content header. Throws FieldTableError. */
export function decodeProperties(bytes: Buffer): BasicProperties {
  need(bytes, 0, 2);
  const flags = bytes.readUInt16BE(0);
  let at = 2;
  const properties: Record<string, unknown> = {};
  for (const [index, [name, kind]] of LAYOUT.entries()) {
    if ((flags & (FLAG_FIRST >> index)) === 0) continue;
    need(bytes, at, 1);
    if (kind === "octet") {
      properties[name] = bytes[at]!;
      at += 1;
    } else if (kind === "time") {
      need(bytes, at, 8);
      properties[name] = bytes.readBigUInt64BE(at);
      at += 8;
    } else {
      const sizeBytes = kind === "text" ? 1 : 4;
      need(bytes, at, sizeBytes);
      const length = bytes.readUIntBE(at, sizeBytes);
      need(bytes, at + sizeBytes, length);
      const content = bytes.subarray(at + sizeBytes, at + sizeBytes + length);
      properties[name] =
        kind === "table" ? decodeTable(content) : (textOrNull(content) ?? { base64: content.toString("base64") });
      at += sizeBytes + length;
    }
  }
  return properties as BasicProperties;
}

function encodeOne(name: string, kind: Kind, value: unknown): Buffer {
  if (kind === "octet") return Buffer.from([value as number]);
  if (kind === "time") {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigUInt64BE(value as bigint);
    return bytes;
  }
  if (kind === "table") {
    const content = encodeTable(value as FieldTable);
    const size = Buffer.allocUnsafe(4);
    size.writeUInt32BE(content.length);
    return Buffer.concat([size, content]);
  }
  const text = value as ShortText;
  const content = typeof text === "string" ? Buffer.from(text, "utf8") : Buffer.from(text.base64, "base64");
  if (content.length > 255) throw new FieldTableError(`property ${name} is longer than 255 bytes`);
  return Buffer.concat([Buffer.from([content.length]), content]);
}

/** Inverse of `decodeProperties`. Throws FieldTableError. */
export function encodeProperties(properties: BasicProperties): Buffer {
  const flagBytes = Buffer.alloc(2);
  const parts: Buffer[] = [flagBytes];
  let flags = 0;
  for (const [index, [name, kind]] of LAYOUT.entries()) {
    const value = properties[name];
    if (value === undefined) continue;
    flags |= FLAG_FIRST >> index;
    parts.push(encodeOne(name, kind, value));
  }
  flagBytes.writeUInt16BE(flags);
  return Buffer.concat(parts);
}
