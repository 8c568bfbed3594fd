import { expect, test } from "vitest";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { selectorsIn } from "./selectors";

const sample = (payload: string | null, headers: [string, string | null][] = [], properties = {}) => ({
  message: { payload, headers, properties },
});

test("names what the samples hold, each place once, with its first value", () => {
  const found = selectorsIn([
    sample('{"order":{"id":77,"a/b":true,"none":null},"lines":[{"sku":"s-1"},{"sku":"s-2"}]}', [["X-Tenant", "north"]]),
    sample(
      '{"order":{"id":78}}',
      [
        ["x-tenant", "south"],
        ["empty", " "],
      ],
      { correlationId: "c-1" },
    ),
    sample("no JSON"),
    sample(null),
  ]);
  expect(found).toEqual([
    { selector: "x-tenant", example: "north" },
    { selector: "/order/id", example: "77" },
    { selector: "/order/a~1b", example: "true" },
    { selector: "/lines/0/sku", example: "s-1" },
    { selector: "property:correlationId", example: "c-1" },
  ]);
});

test("names places as the parking finds them", () => {
  const payload = '{"a/b":{"c~d":["x"]}}';
  for (const { selector, example } of selectorsIn([sample(payload)]))
    expect(new PayloadJson(Buffer.from(payload)).scalar(selector)).toBe(example);
});

test("is bounded for a payload with thousands of places", () => {
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, index]));
  expect(selectorsIn([sample(JSON.stringify(wide))])).toHaveLength(200);
});
