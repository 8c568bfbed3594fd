import { textOrNull } from "@/lib/brokers/message";

/**
 * An AMQP 0-9-1 field value with the type it had on the wire. Client libraries fold all integers into one number and
 * all strings into UTF-8; a consumer in another language sees the difference, so a redrive must write the same field
 * again. Type tags as RabbitMQ uses them: https://www.rabbitmq.com/amqp-0-9-1-errata#section_3
 */
export type FieldValue =
  | { type: "longstr"; value: string }
  /** A longstr that is not UTF-8 text (or holds NUL): .NET and PHP clients send binary under the string tag. */
  | { type: "longstr-bytes"; value: Uint8Array }
  | { type: "bytes"; value: Uint8Array }
  | { type: "bool"; value: boolean }
  | { type: SmallInteger; value: number }
  | { type: "int64" | "timestamp"; value: bigint }
  | { type: "float" | "double"; value: number }
  | { type: "decimal"; places: number; digits: number }
  | { type: "void" }
  | { type: "array"; value: FieldValue[] }
  | { type: "table"; value: FieldTable };

type SmallInteger = "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32";

/** In wire order, duplicates kept. */
export type FieldTable = [name: string, value: FieldValue][];

/** The bytes do not form a field table, or a value cannot be written as one. */
export class FieldTableError extends Error {
  override readonly name = "FieldTableError";
}

/** Names are shown and stored as text: NUL becomes its visible symbol, invalid UTF-8 the replacement character. */
function nameOf(bytes: Buffer): string {
  return bytes.toString("utf8").replaceAll("\u0000", "\u2400");
}

class Reader {
  private at = 0;
  private readonly bytes: Buffer;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  take(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new FieldTableError("field table ends in the middle of a value");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  long(): Buffer {
    return this.take(this.take(4).readUInt32BE());
  }

  value(depth: number): FieldValue {
    const tag = String.fromCharCode(this.take(1)[0]!);
    switch (tag) {
      case "S": {
        const bytes = this.long();
        const text = textOrNull(bytes);
        return text === null ? { type: "longstr-bytes", value: bytes } : { type: "longstr", value: text };
      }
      case "x":
        return { type: "bytes", value: this.long() };
      case "t":
        return { type: "bool", value: this.take(1)[0] !== 0 };
      case "b":
        return { type: "int8", value: this.take(1).readInt8() };
      case "B":
        return { type: "uint8", value: this.take(1).readUInt8() };
      case "s":
        return { type: "int16", value: this.take(2).readInt16BE() };
      case "u":
        return { type: "uint16", value: this.take(2).readUInt16BE() };
      case "I":
        return { type: "int32", value: this.take(4).readInt32BE() };
      case "i":
        return { type: "uint32", value: this.take(4).readUInt32BE() };
      case "l":
        return { type: "int64", value: this.take(8).readBigInt64BE() };
      case "T":
        return { type: "timestamp", value: this.take(8).readBigUInt64BE() };
      case "f":
        return { type: "float", value: this.take(4).readFloatBE() };
      case "d":
        return { type: "double", value: this.take(8).readDoubleBE() };
      case "D":
        return { type: "decimal", places: this.take(1)[0]!, digits: this.take(4).readUInt32BE() };
      case "V":
        return { type: "void" };
      case "A":
        return { type: "array", value: arrayIn(this.long(), depth + 1) };
      case "F":
        return { type: "table", value: tableIn(this.long(), depth + 1) };
      default:
        throw new FieldTableError(`unknown field type tag ${JSON.stringify(tag)}`);
    }
  }

  name(): string {
    return nameOf(this.take(this.take(1)[0]!));
  }
}

/** Deeper nesting would overflow the call stack. */
const DEPTH_MAX = 64;

function arrayIn(bytes: Buffer, depth: number): FieldValue[] {
  if (depth > DEPTH_MAX) throw new FieldTableError(`field values nest deeper than ${DEPTH_MAX}`);
  const reader = new Reader(bytes);
  const values: FieldValue[] = [];
  while (!reader.done) values.push(reader.value(depth));
  return values;
}

function tableIn(bytes: Uint8Array, depth: number): FieldTable {
  if (depth > DEPTH_MAX) throw new FieldTableError(`field values nest deeper than ${DEPTH_MAX}`);
  const reader = new Reader(bytes);
  const table: FieldTable = [];
  while (!reader.done) table.push([reader.name(), reader.value(depth)]);
  return table;
}

/** Decodes the content of a field table, without its length prefix. Throws FieldTableError. */
export function decodeTable(bytes: Uint8Array): FieldTable {
  return tableIn(bytes, 0);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function prefixed(tag: string, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(tag, "latin1"), uint32(content.length), content]);
}

function fixed(tag: string, length: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(1 + length);
  bytes.write(tag, "latin1");
  write(bytes);
  return bytes;
}

/** One value with its type tag. Throws FieldTableError or RangeError. */
export function encodeValue(field: FieldValue): Buffer {
  switch (field.type) {
    case "longstr":
      return prefixed("S", Buffer.from(field.value, "utf8"));
    case "longstr-bytes":
      return prefixed("S", field.value);
    case "bytes":
      return prefixed("x", field.value);
    case "bool":
      return fixed("t", 1, (bytes) => bytes.writeUInt8(field.value ? 1 : 0, 1));
    case "int8":
      return fixed("b", 1, (bytes) => bytes.writeInt8(field.value, 1));
    case "uint8":
      return fixed("B", 1, (bytes) => bytes.writeUInt8(field.value, 1));
    case "int16":
      return fixed("s", 2, (bytes) => bytes.writeInt16BE(field.value, 1));
    case "uint16":
      return fixed("u", 2, (bytes) => bytes.writeUInt16BE(field.value, 1));
    case "int32":
      return fixed("I", 4, (bytes) => bytes.writeInt32BE(field.value, 1));
    case "uint32":
      return fixed("i", 4, (bytes) => bytes.writeUInt32BE(field.value, 1));
    case "int64":
      return fixed("l", 8, (bytes) => bytes.writeBigInt64BE(field.value, 1));
    case "timestamp":
      return fixed("T", 8, (bytes) => bytes.writeBigUInt64BE(field.value, 1));
    case "float":
      return fixed("f", 4, (bytes) => bytes.writeFloatBE(field.value, 1));
    case "double":
      return fixed("d", 8, (bytes) => bytes.writeDoubleBE(field.value, 1));
    case "decimal":
      return fixed("D", 5, (bytes) => {
        bytes.writeUInt8(field.places, 1);
        bytes.writeUInt32BE(field.digits, 2);
      });
    case "void":
      return Buffer.from("V", "latin1");
    case "array":
      return prefixed("A", Buffer.concat(field.value.map(encodeValue)));
    case "table":
      return prefixed("F", encodeTable(field.value));
  }
}

/** Encodes the content of a field table, without its length prefix. Throws FieldTableError or RangeError. */
export function encodeTable(table: FieldTable): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of table) {
    const bytes = Buffer.from(name, "utf8");
    if (bytes.length > 255) throw new FieldTableError(`header name is longer than 255 bytes: ${name.slice(0, 40)}...`);
    parts.push(Buffer.from([bytes.length]), bytes, encodeValue(value));
  }
  return Buffer.concat(parts);
}
