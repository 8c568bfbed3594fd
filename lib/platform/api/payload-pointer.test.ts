import { describe, expect, test } from "vitest";
import { bodyReader, POINTED_BYTES_MAX } from "./payload-pointer.shapes";

const read = (text: string | Uint8Array, pointer: string) =>
  bodyReader(typeof text === "string" ? Buffer.from(text) : text)(pointer);
const ORDER =
  '{"order": {"id": 77, "big": 9007199254740993, "tiny": 1.50, "paid": false, "a/b": "x", "items": [{"sku": "s1"}, null]}}';

describe("a pointer into a payload", () => {
  test.each([
    ["/order/id", "77"],
    ["/order/big", "9007199254740993"],
    ["/order/tiny", "1.50"],
    ["/order/paid", "false"],
    ["/order/a~1b", "x"],
    ["/order/items/0/sku", "s1"],
  ])("%s reads %s", (pointer, text) => {
    expect(read(ORDER, pointer)).toEqual({ found: true, text });
    expect(read(`\uFEFF ${ORDER}`, pointer)).toEqual({ found: true, text });
  });

  test.each(["/order", "/order/items", "/order/items/1"])("%s finds something that is no scalar", (pointer) => {
    expect(read(ORDER, pointer)).toEqual({ found: true, text: null });
  });

  test.each(["/absent", "/order/id/x", "/order/items/2", "/order/constructor", "/__proto__"])(
    "%s finds nothing",
    (pointer) => {
      expect(read(ORDER, pointer)).toEqual({ found: false, text: null });
    },
  );

  test.each([
    ["broken JSON", '{"a": '],
    ["text", "hello"],
    ["a bare number", "7"],
    ["nothing", ""],
    ["bytes", new Uint8Array([0x1f, 0x8b, 8, 0])],
  ])("a payload that is %s holds nothing", (_name, payload) => {
    expect(read(payload, "/a")).toEqual({ found: false, text: null });
  });

  test("a payload above the bound is not read", () => {
    const of = (bytes: number) => read(JSON.stringify({ a: 1, pad: "x".repeat(bytes) }), "/a").found;
    expect([of(POINTED_BYTES_MAX - 100), of(POINTED_BYTES_MAX)]).toEqual([true, false]);
  });

  test("nesting to any depth ends in an answer", () => {
    const depth = 200_000;
    expect(read(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`, "/a/a").found).toBeTypeOf("boolean");
  });
});
