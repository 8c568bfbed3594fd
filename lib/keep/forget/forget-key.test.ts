import { describe, expect, test } from "vitest";
import { holdsAt, matchesKey, patternsOf } from "./forget-key.pure";

describe("a pointer into a payload", () => {
  test.each([
    ['{"customer":{"email":"ada@example.org"}}', "/customer/email", "ada@example.org", true],
    ['{"customer":{"email":"ada@example.org"}}', "/customer/email", "ada", false],
    ['{"customer":{"email":"ada@example.org"}}', "/customer", "ada@example.org", false],
    ['{"ids":["a",90071992547409931]}', "/ids/1", "90071992547409931", true],
    ['{"ids":["a",90071992547409931]}', "/ids/1", "90071992547409932", false],
    ['{"a/b":{"~":"x"}}', "/a~1b/~0", "x", true],
    ['{"a":true}', "/a", "true", true],
    ['{"a":null}', "/a", "null", false],
    ['{"a":"x"}', "/toString", "x", false],
    ["ada@example.org", "/a", "ada@example.org", false],
  ])("%s at %s holds %s: %s", (text, pointer, value, holds) => {
    expect(holdsAt(text, pointer, value)).toBe(holds);
  });
});

test("a key finds an event by its aggregate, its tag or its payloads", () => {
  const facts = {
    aggregateId: "c-42",
    aggregateType: "customer",
    tags: { customerId: "42" },
    payloads: ['{"a":1}', '{"a":2}'],
  };
  expect(matchesKey({ aggregateId: "c-42" }, facts)).toBe(true);
  expect(matchesKey({ aggregateId: "c-42", aggregateType: "order" }, facts)).toBe(false);
  expect(matchesKey({ tag: { name: "customerId", value: "42" } }, facts)).toBe(true);
  expect(matchesKey({ tag: { name: "toString", value: "42" } }, facts)).toBe(false);
  expect(matchesKey({ payload: { pointer: "/a", value: "2" } }, facts)).toBe(true);
  expect(matchesKey({ payload: { pointer: "/a", value: "3" } }, facts)).toBe(false);
});

test("a long text is found as a word, a short one as a whole value", () => {
  const { text, json } = patternsOf(["ada@example.org", "42"], "42");
  expect(text).toBe(
    String.raw`(?:(?<![[:alnum:]_])|(?<=%[0-9A-F][0-9A-F]))(?:ada\%40example\.org|ada\@example\.org)(?![[:alnum:]_])|^(?:42)$`,
  );
  expect(json).toContain(`(?<=")(?:42)(?=")`);
});

test("the person's value is found where a text was cut within it", () => {
  const { text } = patternsOf(["ada@ex", "order-17"], "ada@ex");
  expect(text.endsWith(String.raw`|(?<=%[0-9A-F][0-9A-F]))ada(?:\@(?:e(?:x)?)?)?…`)).toBe(true);
});
