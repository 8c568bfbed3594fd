import Ajv2020 from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inferSchema } from "./infer-schema.pure";

const infer = (values: unknown[]) => {
  const inference = inferSchema();
  for (const value of values) inference.add(value);
  return inference.result();
};

describe("the inference of a schema", () => {
  test("says types, which fields every value has, and which only some have", () => {
    expect(
      infer([
        { id: "o-1", amount: 12, lines: [{ sku: "a", note: null }] },
        { id: "o-2", amount: 12.5, lines: [{ sku: "b" }], "a/b": true },
      ]),
    ).toEqual({
      schema: {
        type: "object",
        required: ["id", "amount", "lines"],
        properties: {
          id: { type: "string" },
          amount: { type: "number" },
          lines: {
            type: "array",
            items: {
              type: "object",
              required: ["sku"],
              properties: { sku: { type: "string" }, note: { type: "null" } },
            },
          },
          "a/b": { type: "boolean" },
        },
      },
      optional: ["/lines/*/note", "/a~1b"],
    });
  });

  test("keeps integers beyond 2^53 as integers, and says every type that it saw", () => {
    const values = ["9007199254740993", "18446744073709551616", '"text"', "null"].map((text) => JSON.parse(text));
    expect(infer(values)!.schema).toEqual({ type: ["string", "integer", "null"] });
    expect(infer([1, 2])!.schema).toEqual({ type: "integer" });
    expect(infer([])).toBeNull();
  });

  test("never names a value: ids would make every new one wrong", () => {
    const text = JSON.stringify(
      infer(Array.from({ length: 100 }, (_, n) => ({ status: "NEW", id: `order-${n % 3}` }))),
    );
    expect(text).not.toMatch(/NEW|order-|enum|const/);
  });

  test("an object whose names are data is a map, and not a schema of a thousand fields", () => {
    const values = Array.from({ length: 200 }, (_, n) => ({ stock: { [`sku-${n}`]: n, [`sku-${n + 1}`]: n } }));
    expect(infer(values)!.schema).toEqual({
      type: "object",
      required: ["stock"],
      properties: { stock: { type: "object", additionalProperties: { type: "integer" } } },
    });
  });

  test("a wide object with names of its own stays one", () => {
    const wide = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`field${n}`, n]));
    expect(infer(Array(20).fill(wide))!.schema.required).toHaveLength(150);
  });

  test("survives names of the language, and endless nesting", () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 1, "toString": "x", "": 0}');
    const { schema } = infer([hostile, hostile])!;
    expect(schema.required).toEqual(["constructor", "toString", ""]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    const deep = JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`);
    expect(JSON.stringify(infer([deep])).length).toBeLessThan(2_000);
  });
});

test("every value matches the schema that was inferred from it and others", () => {
  const part = fc.jsonValue({ maxDepth: 2 });
  const wide = fc.dictionary(fc.string(), fc.integer(), { minKeys: 60, maxKeys: 90 });
  fc.assert(
    fc.property(fc.array(fc.oneof(part, wide), { minLength: 1, maxLength: 6 }), (sent) => {
      const values = sent.map((value) => JSON.parse(JSON.stringify(value)) as unknown);
      const schema = infer(values)!.schema;
      // The optimiser of compiled schemas takes most of the time of this test.
      const matches = new Ajv2020({ strict: false, ownProperties: true, code: { optimize: false } }).compile(schema);
      for (const value of values) expect(matches(value)).toBe(true);
    }),
    { numRuns: 30, endOnFailure: true },
  );
});
