import { textOrNull } from "@/lib/brokers/message";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";

/**
 * An AMQP 1.0 value with the type it had on the wire: clients fold integers into one number, and symbols into strings.
 * Compound, described and array values are kept as their bytes: a redrive writes the very same ones.
 * https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-types-v1.0-os.html#section-primitive-type-definitions
 */
export type AmqpValue =
  | { type: "null" }
  | { type: "boolean"; value: boolean }
  | { type: "string" | "symbol" | "uuid"; value: string }
  | { type: NumberType; value: number }
  | { type: "ulong" | "long" | "timestamp"; value: bigint }
  | { type: "binary" | "decimal32" | "decimal64" | "decimal128" | "encoded"; value: Buffer };

type NumberType = "ubyte" | "ushort" | "uint" | "byte" | "short" | "int" | "float" | "double" | "char";

/** The bytes are no AMQP 1.0 value, or a value cannot be written as its type. */
export class AmqpValueError extends Error {
  override readonly name = "AmqpValueError";
}

const FIXED: Record<number, (bytes: Buffer) => AmqpValue> = {
  64: () => ({ type: "null" }),
  65: () => ({ type: "boolean", value: true }),
  66: () => ({ type: "boolean", value: false }),
  67: () => ({ type: "uint", value: 0 }),
  68: () => ({ type: "ulong", value: 0n }),
  69: () => ({ type: "encoded", value: Buffer.from([0x45]) }), // the empty list
  80: (bytes) => ({ type: "ubyte", value: bytes.readUInt8() }),
  81: (bytes) => ({ type: "byte", value: bytes.readInt8() }),
  82: (bytes) => ({ type: "uint", value: bytes.readUInt8() }),
  83: (bytes) => ({ type: "ulong", value: BigInt(bytes.readUInt8()) }),
  84: (bytes) => ({ type: "int", value: bytes.readInt8() }),
  85: (bytes) => ({ type: "long", value: BigInt(bytes.readInt8()) }),
  86: (bytes) => ({ type: "boolean", value: bytes.readUInt8() === 1 }),
  96: (bytes) => ({ type: "ushort", value: bytes.readUInt16BE() }),
  97: (bytes) => ({ type: "short", value: bytes.readInt16BE() }),
  112: (bytes) => ({ type: "uint", value: bytes.readUInt32BE() }),
  113: (bytes) => ({ type: "int", value: bytes.readInt32BE() }),
  114: (bytes) => ({ type: "float", value: bytes.readFloatBE() }),
  115: (bytes) => ({ type: "char", value: bytes.readUInt32BE() }),
  116: (bytes) => ({ type: "decimal32", value: Buffer.from(bytes) }),
  128: (bytes) => ({ type: "ulong", value: bytes.readBigUInt64BE() }),
  129: (bytes) => ({ type: "long", value: bytes.readBigInt64BE() }),
  130: (bytes) => ({ type: "double", value: bytes.readDoubleBE() }),
  131: (bytes) => ({ type: "timestamp", value: bytes.readBigInt64BE() }),
  132: (bytes) => ({ type: "decimal64", value: Buffer.from(bytes) }),
  148: (bytes) => ({ type: "decimal128", value: Buffer.from(bytes) }),
  152: (bytes) => ({ type: "uuid", value: uuidText(bytes) }),
};
/** Width of the fixed types by the high half of their code. */
const WIDTHS: Record<number, number> = { 4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16 };
/** Types whose code ends in 1 or 0 behind these halves: bytes, strings and symbols, with 1 or 4 bytes of size. */
const BYTES = 0x0;
const STRING = 0x1;
const SYMBOL = 0x3;

function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function slice(bytes: Buffer, from: number, length: number): Buffer {
  if (from + length > bytes.length) throw new AmqpValueError("the message ends in the middle of a value");
  return bytes.subarray(from, from + length);
}

/** The value at `at` and where it ends. Throws AmqpValueError. */
export function readValue(bytes: Buffer, at: number): { value: AmqpValue; end: number } {
  const code = slice(bytes, at, 1)[0]!;
  if (code === 0) {
    const { end } = readValue(bytes, readValue(bytes, at + 1).end);
    return { value: { type: "encoded", value: Buffer.from(bytes.subarray(at, end)) }, end };
  }
  const half = code >> 4;
  const width = WIDTHS[half];
  if (width !== undefined) {
    const read = FIXED[code];
    if (read === undefined) throw new AmqpValueError(`there is no type with code ${code}`);
    return { value: read(slice(bytes, at + 1, width)), end: at + 1 + width };
  }
  if (half < 0xa) throw new AmqpValueError(`there is no type with code ${code}`);
  const sizeBytes = half % 2 === 0 ? 1 : 4;
  const size = slice(bytes, at + 1, sizeBytes).readUIntBE(0, sizeBytes);
  const content = slice(bytes, at + 1 + sizeBytes, size);
  const end = at + 1 + sizeBytes + size;
  if (half > 0xb) return { value: { type: "encoded", value: Buffer.from(bytes.subarray(at, end)) }, end };
  const value = ofContent(code & 0xf, content);
  return { value: value ?? { type: "encoded", value: Buffer.from(bytes.subarray(at, end)) }, end };
}

/** null: a string that is no UTF-8. */
function ofContent(kind: number, content: Buffer): AmqpValue | null {
  if (kind === BYTES) return { type: "binary", value: Buffer.from(content) };
  if (kind === SYMBOL) return { type: "symbol", value: content.toString("latin1") };
  if (kind !== STRING) throw new AmqpValueError("there is no such type");
  const value = content.toString("utf8");
  return Buffer.from(value).equals(content) ? { type: "string", value } : null;
}

/** The values of a list or map at `at`: a map is its keys and values in turn. Throws AmqpValueError. */
export function readElements(bytes: Buffer, at: number): AmqpValue[] {
  const code = slice(bytes, at, 1)[0]!;
  if (code === 0x45) return [];
  const half = code >> 4;
  if (half !== 0xc && half !== 0xd) throw new AmqpValueError("a section is neither a list nor a map");
  const wide = half === 0xd ? 4 : 1;
  const count = slice(bytes, at + 1 + wide, wide).readUIntBE(0, wide);
  const elements: AmqpValue[] = [];
  let next = at + 1 + 2 * wide;
  while (elements.length < count) {
    const { value, end } = readValue(bytes, next);
    elements.push(value);
    next = end;
  }
  return elements;
}

const CODES: Record<NumberType, [code: number, write: (bytes: Buffer, value: number) => void, width: number]> = {
  ubyte: [0x50, (bytes, value) => bytes.writeUInt8(value), 1],
  byte: [0x51, (bytes, value) => bytes.writeInt8(value), 1],
  ushort: [0x60, (bytes, value) => bytes.writeUInt16BE(value), 2],
  short: [0x61, (bytes, value) => bytes.writeInt16BE(value), 2],
  uint: [0x70, (bytes, value) => bytes.writeUInt32BE(value), 4],
  int: [0x71, (bytes, value) => bytes.writeInt32BE(value), 4],
  float: [0x72, (bytes, value) => bytes.writeFloatBE(value), 4],
  char: [0x73, (bytes, value) => bytes.writeUInt32BE(value), 4],
  double: [0x82, (bytes, value) => bytes.writeDoubleBE(value), 8],
};

function wide(code: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = code;
  if (code === 0x80) bytes.writeBigUInt64BE(value, 1);
  else bytes.writeBigInt64BE(value, 1);
  return bytes;
}

/** Content of `kind` (bytes, string or symbol) with its size in front. */
export function sized(kind: "binary" | "string" | "symbol", content: Buffer): Buffer {
  const low = { binary: BYTES, string: STRING, symbol: SYMBOL }[kind];
  if (content.length <= 255) return Buffer.concat([Buffer.from([0xa0 | low, content.length]), content]);
  const head = Buffer.alloc(5);
  head[0] = 0xb0 | low;
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

export function encodeValue(value: AmqpValue): Buffer {
  switch (value.type) {
    case "null":
      return Buffer.from([0x40]);
    case "boolean":
      return Buffer.from([value.value ? 0x41 : 0x42]);
    case "string":
      return sized("string", Buffer.from(value.value));
    case "symbol":
      return sized("symbol", Buffer.from(value.value, "latin1"));
    case "binary":
      return sized("binary", value.value);
    case "uuid":
      return Buffer.concat([Buffer.from([0x98]), Buffer.from(value.value.replaceAll("-", ""), "hex")]);
    case "ulong":
      return wide(0x80, value.value);
    case "long":
      return wide(0x81, value.value);
    case "timestamp":
      return wide(0x83, value.value);
    case "encoded":
      return value.value;
    case "decimal32":
    case "decimal64":
    case "decimal128":
      return Buffer.concat([
        Buffer.from([{ decimal32: 0x74, decimal64: 0x84, decimal128: 0x94 }[value.type]]),
        value.value,
      ]);
    default: {
      const [code, write, width] = CODES[value.type];
      const bytes = Buffer.alloc(width);
      write(bytes, value.value);
      return Buffer.concat([Buffer.from([code]), bytes]);
    }
  }
}

/** A list, or with `map` a map of keys and values in turn. */
export function encodeElements(elements: readonly AmqpValue[], { map }: { map: boolean }): Buffer {
  const content = Buffer.concat(elements.map(encodeValue));
  const head = Buffer.alloc(9);
  head[0] = map ? 0xd1 : 0xd0;
  head.writeUInt32BE(content.length + 4, 1);
  head.writeUInt32BE(elements.length, 5);
  return Buffer.concat([head, content]);
}

/** What is stored of a value: text, booleans and null plain, every other type as `{ "!": type, "value": ... }`. */
export function toJson(value: AmqpValue): unknown {
  switch (value.type) {
    case "null":
      return null;
    case "string":
    case "boolean":
      return value.value;
    case "uuid":
    case "symbol":
      return { "!": value.type, value: value.value };
    case "long":
    case "ulong":
    case "timestamp": {
      const number = Number(value.value);
      return { "!": value.type, value: Number.isSafeInteger(number) ? number : String(value.value) };
    }
    default:
      if (Buffer.isBuffer(value.value)) return { "!": value.type, value: value.value.toString("base64") };
      // JSON has no NaN, infinity and -0: their bits.
      if (!Number.isFinite(value.value) || Object.is(value.value, -0))
        return { "!": value.type, value: encodeValue(value).subarray(1).toString("hex") };
      return { "!": value.type, value: value.value };
  }
}

/** Inverse of `toJson`. Throws AmqpValueError for what a person made of it. */
export function fromJson(json: unknown): AmqpValue {
  if (json === null || json === undefined) return { type: "null" };
  if (typeof json === "string") return { type: "string", value: json };
  if (typeof json === "boolean") return { type: "boolean", value: json };
  // A bare number was typed by a person: the narrowest common reading.
  if (typeof json === "number")
    return Number.isSafeInteger(json) ? { type: "long", value: BigInt(json) } : { type: "double", value: json };
  const { "!": type, value } = json as { "!"?: unknown; value?: unknown };
  const back = typed(String(type), value);
  try {
    if (back !== null) encodeValue(back); // a number beyond its type throws here, and not in the middle of a send
  } catch (cause) {
    throw new AmqpValueError(`not a ${type}: ${JSON.stringify(value)} (${String(cause)})`);
  }
  if (back === null) throw new AmqpValueError(`not a value of AMQP 1.0: ${JSON.stringify(json)}`);
  return back;
}

function typed(type: string, value: unknown): AmqpValue | null {
  const text = typeof value === "string" ? value : null;
  switch (type) {
    case "uuid":
      return text !== null && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? { type, value: text } : null;
    case "symbol":
      return text === null ? null : { type, value: text };
    case "long":
    case "ulong":
    case "timestamp":
      return /^-?\d{1,20}$/.test(String(value)) ? { type, value: BigInt(String(value)) } : null;
    case "binary":
    case "encoded":
    case "decimal32":
    case "decimal64":
    case "decimal128":
      return text === null ? null : { type, value: Buffer.from(text, "base64") };
    default: {
      if (!Object.hasOwn(CODES, type)) return null;
      const number = type as NumberType;
      if (typeof value === "number") return { type: number, value };
      if (text === null || (type !== "float" && type !== "double")) return null;
      const bits = Buffer.from(text, "hex");
      if (bits.length !== CODES[number][2]) return null;
      return { type: number, value: type === "float" ? bits.readFloatBE() : bits.readDoubleBE() };
    }
  }
}

/** The text of a value for mappings and for people; null where it has none. */
export function textOf(value: AmqpValue | undefined): string | null {
  if (value === undefined || value.type === "null") return null;
  if (!Buffer.isBuffer(value.value)) return String(value.value);
  return value.type === "binary" ? textOrNull(value.value) : null;
}

export function toHeader(name: string, value: AmqpValue): Header {
  if (value.type === "null") return [name, null];
  // Text that PostgreSQL cannot store goes as its typed form.
  if (value.type === "string" && !value.value.includes("\u0000")) return [name, value.value];
  if (value.type === "binary") return [name, value.value.toString("base64"), "bytes"];
  if (value.type === "string")
    return [name, JSON.stringify({ "!": "encoded", value: encodeValue(value).toString("base64") }), "amqp"];
  return [name, JSON.stringify(toJson(value)), "amqp"];
}

/** The application property that a Header stands for. Throws AmqpValueError. */
export function fromHeader([name, value, encoding = "text"]: Header): AmqpValue {
  if (value === null) return { type: "null" };
  if (encoding === "text") return { type: "string", value };
  if (encoding === "bytes") return { type: "binary", value: Buffer.from(value, "base64") };
  try {
    return fromJson(JSON.parse(value));
  } catch (cause) {
    throw new AmqpValueError(`header ${name} is not a typed value: ${String(cause)}`);
  }
}
