import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeProperties, encodeProperties } from "@/lib/brokers/rabbitmq/basic-properties";
import { fromHeader, toHeader } from "@/lib/brokers/rabbitmq/field-header";
import { decodeTable, encodeTable, type FieldTable, type FieldValue } from "@/lib/brokers/rabbitmq/field-table";

const text = fc.string({ unit: "binary", maxLength: 20 }).filter((value) => !value.includes("\u0000"));
const name = fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((value) => !value.includes("\u0000"));
const notText = fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from([...bytes, 0]));

const scalar: fc.Arbitrary<FieldValue> = fc.oneof(
  text.map((value): FieldValue => ({ type: "longstr", value })),
  notText.map((value): FieldValue => ({ type: "longstr-bytes", value })),
  fc.uint8Array({ maxLength: 8 }).map((value): FieldValue => ({ type: "bytes", value: Buffer.from(value) })),
  fc.boolean().map((value): FieldValue => ({ type: "bool", value })),
  fc.integer({ min: -128, max: 127 }).map((value): FieldValue => ({ type: "int8", value })),
  fc.integer({ min: 0, max: 255 }).map((value): FieldValue => ({ type: "uint8", value })),
  fc.integer({ min: -32768, max: 32767 }).map((value): FieldValue => ({ type: "int16", value })),
  fc.integer({ min: 0, max: 65535 }).map((value): FieldValue => ({ type: "uint16", value })),
  fc.integer().map((value): FieldValue => ({ type: "int32", value })),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((value): FieldValue => ({ type: "uint32", value })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value): FieldValue => ({ type: "int64", value })),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value): FieldValue => ({ type: "timestamp", value })),
  fc.double().map((value): FieldValue => ({ type: "double", value })),
  fc.float().map((value): FieldValue => ({ type: "float", value })),
  fc
    .record({ places: fc.integer({ min: 0, max: 255 }), digits: fc.integer({ min: 0, max: 2 ** 32 - 1 }) })
    .map((value): FieldValue => ({ type: "decimal", ...value })),
  fc.constant<FieldValue>({ type: "void" }),
);

const { field } = fc.letrec<{ field: FieldValue }>((tie) => ({
  field: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("field"), { maxLength: 4 }).map((value): FieldValue => ({ type: "array", value })),
    fc.array(fc.tuple(name, tie("field")), { maxLength: 4 }).map((value): FieldValue => ({ type: "table", value })),
  ),
}));

const tables: fc.Arbitrary<FieldTable> = fc.array(fc.tuple(name, field), { maxLength: 6 });

describe("AMQP field tables", () => {
  it("writes back the very bytes it read, whatever types, order and duplicates they hold", () => {
    fc.assert(
      fc.property(tables, (table) => {
        const bytes = encodeTable(table);
        expect(encodeTable(decodeTable(bytes)).equals(bytes)).toBe(true);
      }),
    );
  });

  it("survives being stored as headers: the redrive builds the very same field", () => {
    fc.assert(
      fc.property(tables, (table) => {
        const bytes = encodeTable(table);
        const stored = decodeTable(bytes).map(([key, value]) => toHeader(key, value));
        const headers = JSON.parse(JSON.stringify(stored)) as typeof stored;
        expect(encodeTable(headers.map((header) => [header[0], fromHeader(header)])).equals(bytes)).toBe(true);
      }),
    );
  });

  it.each<[string, FieldValue, unknown]>([
    ["text as it is", { type: "longstr", value: "8" }, ["h", "8"]],
    ["an absent value as null", { type: "void" }, ["h", null]],
    ["a byte array as base64", { type: "bytes", value: Buffer.from([0, 255]) }, ["h", "AP8=", "bytes"]],
    ["an integer with its width", { type: "int16", value: 8 }, ["h", '{"!":"int16","value":8}', "amqp"]],
    [
      "a 64-bit integer with all its digits",
      { type: "int64", value: 9007199254740993n },
      ["h", '{"!":"int64","value":"9007199254740993"}', "amqp"],
    ],
    [
      "a binary string under the string tag",
      { type: "longstr-bytes", value: Buffer.from([0xc3]) },
      ["h", '{"!":"longstr-bytes","value":"ww=="}', "amqp"],
    ],
    [
      "a table as an object",
      { type: "table", value: [["queue", { type: "longstr", value: "orders" }]] },
      ["h", '{"queue":"orders"}', "amqp"],
    ],
    [
      "a table that no object can hold as a list",
      { type: "table", value: [["10", { type: "void" }]] },
      ["h", '{"!":"table","value":[["10",null]]}', "amqp"],
    ],
  ])("shows %s", (_, value, header) => {
    expect(toHeader("h", value)).toEqual(header);
  });

  it("never lets a NUL or invalid UTF-8 into stored text", () => {
    const table = decodeTable(encodeTable([["a", { type: "longstr-bytes", value: Buffer.from("x\u0000y") }]]));
    expect(table[0]![1].type).toBe("longstr-bytes");
    const named = decodeTable(Buffer.from([2, 0x61, 0x00, "V".charCodeAt(0)]));
    expect(named[0]![0]).toBe("a\u2400");
  });

  it.each([
    ["an unknown type tag", Buffer.from([1, 0x61, "Z".charCodeAt(0)])],
    ["a value cut short", Buffer.from([1, 0x61, "l".charCodeAt(0), 0, 0])],
    ["a length beyond the end", Buffer.from([1, 0x61, "S".charCodeAt(0), 0xff, 0xff, 0xff, 0xff])],
  ])("refuses %s instead of reading past it", (_, bytes) => {
    expect(() => decodeTable(bytes)).toThrow("field");
  });

  it("refuses nesting that would exhaust the stack", () => {
    let value: FieldValue = { type: "void" };
    for (let depth = 0; depth < 100; depth += 1) value = { type: "array", value: [value] };
    expect(() => decodeTable(encodeTable([["a", value]]))).toThrow("nest deeper");
  });

  it.each([['{"!":"int64","value":1.5}'], ['{"!":"nothing","value":1}'], ["not json"], ['{"!":"table","value":{}}']])(
    "names the header whose typed value was damaged: %s",
    (json) => {
      expect(() => fromHeader(["x-count", json, "amqp"])).toThrow("x-count");
    },
  );
});

describe("AMQP basic properties", () => {
  it("keeps exactly the properties that were present, binary ones included", () => {
    const properties = {
      contentType: "application/json",
      headers: [["a", { type: "int8", value: 5 }]] as FieldTable,
      deliveryMode: 1,
      priority: 0,
      correlationId: "",
      messageId: { base64: "/w==" },
      timestamp: 2n ** 63n,
      clusterId: "c",
    };
    expect(decodeProperties(encodeProperties(properties))).toEqual(properties);
  });

  it("tells an absent header table from an empty one", () => {
    expect(decodeProperties(encodeProperties({}))).toEqual({});
    expect(decodeProperties(encodeProperties({ headers: [] }))).toEqual({ headers: [] });
  });

  it("refuses a short string beyond 255 bytes before anything is sent", () => {
    expect(() => encodeProperties({ messageId: "é".repeat(128) })).toThrow("messageId");
  });
});
