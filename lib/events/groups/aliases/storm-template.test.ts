import { describe, expect, test } from "vitest";
import {
  clusterPatterns,
  joinTemplates,
  matchesTemplate,
  tokensOf,
} from "@/lib/events/groups/aliases/storm-template.pure";

const joined = (one: string, other: string) => joinTemplates(tokensOf(one), tokensOf(other))?.join("") ?? null;

describe("two patterns", () => {
  test.each([
    ["no answer from wobeku", "no answer from lirato", "no answer from <*>"],
    ["no answer from wobeku in zone kali", "no answer from lirato in zone moto", "no answer from <*> in zone <*>"],
    [
      "GET http://shop/orders/wobeku failed",
      "GET http://shop/orders/lirato failed",
      "GET http://shop/orders/<*> failed",
    ],
    ['no route to "wobeku": timeout', 'no route to "lirato": timeout', 'no route to "<*>": timeout'],
    // Of unequal length: one part between the same head and the same tail.
    ["customer wobeku lirato was not found", "customer moto was not found", "customer <*> was not found"],
    ["was not found: wobeku kali", "was not found: moto", "was not found: <*>"],
    // A template is joined with a further pattern.
    ["no answer from <*> in zone kali", "no answer from moto in zone sena", "no answer from <*> in zone <*>"],
  ])("%s and %s have the template %s", (one, other, template) => {
    expect(joined(one, other)).toBe(template);
    expect(joined(other, one)).toBe(template);
  });

  test.each([
    ["stock is empty now", "card was declined today"],
    ["wobeku", "lirato"],
    ["", "lirato"],
    ["a: b: c", "d: e: f"],
  ])("%s and %s have too little in common", (one, other) => {
    expect(joined(one, other)).toBeNull();
  });
});

test.each([
  ["no answer from <*>", "no answer from wobeku", true],
  ["no answer from <*>", "no answer from wobeku or kali", true],
  ["no answer from <*>", "no answer from ", false],
  ["no answer from <*>", "an answer from wobeku", false],
  ["<*> was not found", "order wobeku was not found", true],
  ["<*> was not found", "was not found", false],
  ["a <*> b <*> c", "a b b c c", true],
  ["a <*> b <*> c", "a x b c", false],
  ["order <n> is open", "order <n> is open", true],
  ["order <n> is open", "order <n> is open still", false],
])("the template %s holds %s: %s", (template, pattern, expected) => {
  expect(matchesTemplate(tokensOf(template), tokensOf(pattern))).toBe(expected);
});

test("a template of many varying parts is compared in bounded time", () => {
  const template = tokensOf(`${"<*> a ".repeat(60)}b`);
  const startedMs = performance.now();
  expect(matchesTemplate(template, tokensOf("a ".repeat(150)))).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(100);
});

describe("clusters", () => {
  const patterns = (...texts: string[]) => texts.map((pattern) => ({ pattern }));
  const shown = (items: { pattern: string }[], known: string[] = []) =>
    clusterPatterns(items, known.map(tokensOf))
      .map(({ template, members }) => [template.join(""), members.length])
      .toSorted();

  test("hold what has a template in common, in whatever order it comes", () => {
    const items = patterns(
      ...["no answer from wobeku", "refused by the shop of moto", "no answer from lirato", "no answer from sena"],
      ...["refused by the shop of kali", "out of memory"],
    );
    const expected = [
      ["no answer from <*>", 3],
      ["out of memory", 1],
      ["refused by the shop of <*>", 2],
    ];
    expect(shown(items)).toEqual(expected);
    expect(shown(items.toReversed())).toEqual(expected);
  });

  test("widen the template of a storm that is known", () => {
    expect(shown(patterns("no answer from moto in zone b"), ["no answer from <*> in zone a"])).toEqual([
      ["no answer from <*> in zone <*>", 1],
    ]);
  });
});
