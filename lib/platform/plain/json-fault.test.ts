import { describe, expect, test } from "vitest";
import { jsonFault } from "./json-fault.pure";

function nested(levels: number): unknown {
  let value: unknown = "leaf";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("a JSON body", () => {
  test.each([
    ['{"reason":"a\\u0000b"}', "reason"],
    ['{"select":{"filter":{"tags":{"k":["\\ud800"]}}}}', "select.filter.tags.k[0]"],
    ['{"config":{"a\\u0000":1}}', "config"],
    ['{"__proto__":{"ids":[]}}', "__proto__"],
    ['[1,{"mapping":{"__proto__":1}}]', "[1].mapping.__proto__"],
    ['"\\udfff"', ""],
  ])("%s is refused at %s", (json, field) => {
    expect(jsonFault(JSON.parse(json))?.field).toBe(field);
  });

  test("may hold whatever PostgreSQL stores", () => {
    expect(jsonFault(JSON.parse('{"a":["\\ud83d\\ude00",null,1.5,true,{"constructor":"x"}]}'))).toBeNull();
    expect(jsonFault(nested(100))).toBeNull();
  });

  test("is refused when it is too deep, however deep", () => {
    expect(jsonFault(nested(101))?.detail).toContain("deeper than 100");
    expect(jsonFault(JSON.parse("[".repeat(400_000) + "]".repeat(400_000)))?.detail).toContain("deeper");
  });
});
