import * as fc from "fast-check";
import { expect, test } from "vitest";
import { indexTexts, replaceLongestMatches } from "./longest-match.pure";

const whole = { by: "#", charsMax: 1_000 };

test.each([
  ["Ada Lovelace wrote", ["Ada", "Ada Lovelace", "love"], "# wrote"],
  ["Ada Lorelai wrote", ["Ada", "Ada Lovelace"], "# Lorelai wrote"],
  ["aaaab", ["aa", "aaac", "b"], "###"],
  ["nothing", [], "nothing"],
  ["", ["x"], ""],
])("%j without %j is %j", (text, texts, shown) =>
  expect(replaceLongestMatches(text, indexTexts(texts), whole)).toBe(shown),
);

test("no more of a text is read than is shown, and what stands at its end is taken out whole", () => {
  expect(
    replaceLongestMatches(`${"x".repeat(9)}secret ${"y".repeat(100)}`, indexTexts(["secret"]), {
      by: "#",
      charsMax: 10,
    }),
  ).toBe(`${"x".repeat(9)}# `);
});

test("the longest text at each place is taken out, from the left", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 }),
      fc.array(letters),
      (text, texts) => {
        let shown = "";
        for (let at = 0; at < text.length; ) {
          const length = Math.max(
            0,
            ...texts.filter((other) => text.startsWith(other, at)).map((other) => other.length),
          );
          shown += length === 0 ? text[at] : "#";
          at += length || 1;
        }
        expect(replaceLongestMatches(text, indexTexts(texts), whole)).toBe(shown);
      },
    ),
  );
});

test("a long secret is compared at once, and not letter by letter", () => {
  const secret = "a".repeat(500_000);
  const text: object = Object(`${"a".repeat(499_999)}b`);
  let letters = 0;
  const counted = new Proxy(text, {
    get: (target, name) => {
      if (typeof name === "string" && /^\d+$/.test(name)) letters++;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  replaceLongestMatches(counted as unknown as string, indexTexts([secret]), { by: "#", charsMax: 500 });
  expect(letters).toBeLessThanOrEqual(501);
});

test("of 100,000 texts few are looked at for each character that is shown, however long the text is", () => {
  const { sorted, longestPrefix } = indexTexts(Array.from({ length: 100_000 }, (_, n) => `secret-${n}`));
  let looks = 0;
  const counted = new Proxy(sorted, {
    get: (target, name) => {
      looks++;
      return Reflect.get(target, name);
    },
  });
  replaceLongestMatches("secret-x aab ".repeat(50_000), { sorted: counted, longestPrefix }, { by: "#", charsMax: 500 });
  expect(looks).toBeLessThan(501 * 30);
});
