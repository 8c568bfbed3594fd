import { encodeValue, type FieldTable, FieldTableError, type FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";

// JSON form of a typed value, kept in the third kind of Header. Text, booleans, null, arrays and plain tables are JSON
// values; a value whose type JSON would lose is `{ "!": type, "value": ... }`.

const TYPE_KEY = "!";

/** Finite numbers as numbers; NaN, infinity and -0, which JSON does not have, as the hex of their bits. */
function floatToJson(type: "float" | "double", value: number): unknown {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  return encodeValue({ type, value }).subarray(1).toString("hex");
}

function tableToJson(table: FieldTable): unknown {
  const names = table.map(([name]) => name);
  // An object would merge duplicates, reorder names that look like integers, and mistake "!" for a type.
  const plain =
    new Set(names).size === names.length && names.every((name) => name !== TYPE_KEY && !/^(\d+|__proto__)$/.test(name));
  if (plain) return Object.fromEntries(table.map(([name, value]) => [name, fieldToJson(value)]));
  return { [TYPE_KEY]: "table", value: table.map(([name, value]) => [name, fieldToJson(value)]) };
}

function fieldToJson(field: FieldValue): unknown {
  switch (field.type) {
    case "longstr":
    case "bool":
      return field.value;
    case "void":
      return null;
    case "array":
      return field.value.map(fieldToJson);
    case "table":
      return tableToJson(field.value);
    case "longstr-bytes":
    case "bytes":
      return { [TYPE_KEY]: field.type, value: Buffer.from(field.value).toString("base64") };
    case "int64":
    case "timestamp": {
      const number = Number(field.value);
      return { [TYPE_KEY]: field.type, value: Number.isSafeInteger(number) ? number : String(field.value) };
    }
    case "float":
    case "double":
      return { [TYPE_KEY]: field.type, value: floatToJson(field.type, field.value) };
    case "decimal":
      return { [TYPE_KEY]: "decimal", value: { places: field.places, digits: field.digits } };
    default:
      return { [TYPE_KEY]: field.type, value: field.value };
  }
}

function integerOf(value: unknown): bigint {
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  throw new FieldTableError(`not an integer: ${JSON.stringify(value)}`);
}

function typedFromJson(type: unknown, value: unknown): FieldValue {
  switch (type) {
    case "int8":
    case "uint8":
    case "int16":
    case "uint16":
    case "int32":
    case "uint32":
      return { type, value: Number(integerOf(value)) };
    case "int64":
    case "timestamp":
      return { type, value: integerOf(value) };
    case "float":
    case "double": {
      if (typeof value === "number") return { type, value };
      const bytes = Buffer.from(String(value), "hex");
      if (bytes.length !== (type === "float" ? 4 : 8)) throw new FieldTableError(`not the bits of a ${type}`);
      return { type, value: type === "float" ? bytes.readFloatBE() : bytes.readDoubleBE() };
    }
    case "bytes":
    case "longstr-bytes":
      if (typeof value !== "string") throw new FieldTableError(`${type} needs base64 text`);
      return { type, value: Buffer.from(value, "base64") };
    case "decimal": {
      const { places, digits } = (value ?? {}) as { places?: unknown; digits?: unknown };
      return { type, places: Number(integerOf(places)), digits: Number(integerOf(digits)) };
    }
    case "table":
      if (!Array.isArray(value)) throw new FieldTableError("a typed table is a list of [name, value]");
      return { type, value: value.map(([name, entry]) => [String(name), fieldFromJson(entry)]) };
    default:
      throw new FieldTableError(`unknown field type ${JSON.stringify(type)}`);
  }
}

function fieldFromJson(json: unknown): FieldValue {
  if (json === null) return { type: "void" };
  if (typeof json === "string") return { type: "longstr", value: json };
  if (typeof json === "boolean") return { type: "bool", value: json };
  // A bare number comes from a person who edited the header; the narrowest common reading is a 64-bit integer.
  if (typeof json === "number")
    return Number.isSafeInteger(json) ? { type: "int64", value: BigInt(json) } : { type: "double", value: json };
  if (Array.isArray(json)) return { type: "array", value: json.map(fieldFromJson) };
  const object = json as Record<string, unknown>;
  if (Object.hasOwn(object, TYPE_KEY)) return typedFromJson(object[TYPE_KEY], object.value);
  return { type: "table", value: Object.entries(object).map(([name, value]) => [name, fieldFromJson(value)]) };
}

/** One AMQP field as a Header: text, null and byte arrays plain, every other type as JSON with encoding `amqp`. */
export function toHeader(name: string, field: FieldValue): Header {
  switch (field.type) {
    case "longstr":
      return [name, field.value];
    case "void":
      return [name, null];
    case "bytes":
      return [name, Buffer.from(field.value).toString("base64"), "bytes"];
    default:
      return [name, JSON.stringify(fieldToJson(field)), "amqp"];
  }
}

/** The field a Header stands for. Inverse of `toHeader`. Throws FieldTableError when its JSON is malformed. */
export function fromHeader(header: Header): FieldValue {
  const [name, value, encoding = "text"] = header;
  if (value === null) return { type: "void" };
  if (encoding === "text") return { type: "longstr", value };
  if (encoding === "bytes") return { type: "bytes", value: Buffer.from(value, "base64") };
  try {
    return fieldFromJson(JSON.parse(value));
  } catch (cause) {
    throw new FieldTableError(`header ${name} is not a typed AMQP value: ${String(cause)}`);
  }
}
