import { expect, test } from "vitest";
import { unevaluatedItemsFault } from "@/lib/sources/schemas/unevaluated-items.pure";

const contains = { contains: { type: "string" } };
const guarded = { ...contains, unevaluatedItems: false };

test.each<[string, Record<string, unknown>, string, string]>([
  ["beside it", guarded, "at the top", "/contains"],
  ["with a schema of its own", { ...contains, unevaluatedItems: { type: "null" } }, "at the top", "/contains"],
  ["in a field", { properties: { "a/b": guarded } }, "at /properties/a~1b", "/properties/a~1b/contains"],
  ["in a list", { items: { oneOf: [true, guarded] } }, "at /items/oneOf/1", "/items/oneOf/1/contains"],
  ["in all of", { allOf: [{}, contains], unevaluatedItems: false }, "at the top", "/allOf/1/contains"],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  ["in a condition", { if: true, then: contains, unevaluatedItems: false }, "at the top", "/then/contains"],
  ["by name", { dependentSchemas: { a: contains }, unevaluatedItems: false }, "top", "/dependentSchemas/a/contains"],
  [
    "by reference",
    { $ref: "#/$defs/a%25", $defs: { "a%": contains }, unevaluatedItems: false },
    "top",
    "/$defs/a%/contains",
  ],
  [
    "by an anchor, over another reference",
    { $ref: "#a", $defs: { a: { $anchor: "a", $ref: "x" }, b: { $id: "x", ...contains } }, unevaluatedItems: false },
    "at the top",
    "/$defs/b/contains",
  ],
])("unevaluatedItems depends on a contains %s", (_, schema, at, where) => {
  expect(unevaluatedItemsFault(schema)).toContain(at);
  expect(unevaluatedItemsFault(schema)).toContain(`beside the contains at ${where}:`);
});

test.each<[string, Record<string, unknown>]>([
  ["contains alone", contains],
  ["prefixItems", { prefixItems: [true], unevaluatedItems: false }],
  ["no restriction", { ...contains, unevaluatedItems: true }],
  ["items, after which none is left", { ...guarded, items: {} }],
  ["contains of another value", { unevaluatedItems: { ...contains }, prefixItems: [contains], not: contains }],
  ["fields of that name", { properties: { contains: {}, unevaluatedItems: {} } }],
  ["values, which are no schemas", { const: guarded, enum: [guarded], examples: [guarded], default: guarded }],
  ["a schema that includes itself", { $ref: "#", unevaluatedItems: false }],
  ["a reference that leads nowhere", { $ref: "#%", unevaluatedItems: false }],
])("takes %s", (_, schema) => {
  expect(unevaluatedItemsFault(schema)).toBe(null);
});
