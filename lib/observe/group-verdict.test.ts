import { describe, expect, test } from "vitest";
import { trendOf, usualOf } from "@/lib/observe/baseline.pure";
import { beginningOf, isRise, VERDICTS, verdictOf, verdictWords } from "@/lib/observe/group-verdict.pure";

const DAY_MS = 86_400_000;
const fromMs = 100 * DAY_MS;

describe("the verdict on a group", () => {
  test.each([
    ["new", 3, [0, 0, 0], null],
    ["new", 3, [], null],
    ["back", 3, [0, 0, 0], fromMs - 7 * DAY_MS],
    ["steady", 3, [0, 0, 0], fromMs - 7 * DAY_MS + 1],
    ["rising", 4, [0, 0, 0], fromMs - DAY_MS],
    ["rising", 300, [100, 100, 100], fromMs - 1],
    ["steady", 110, [100, 100, 100], fromMs - 1],
    ["falling", 40, [100, 100, 100], fromMs - 1],
    ["falling", 0, [100, 100, 100], null],
    ["steady", 0, [0, 0, 0], null],
    ["steady", 900, [1, 1], fromMs - 1],
  ] as const)("is %s for %d against %j, last seen before at %j", (verdict, count, days, beforeMs) => {
    expect(verdictOf({ count, trend: trendOf(count, usualOf(days)), fromMs, beforeMs })).toBe(verdict);
  });

  test("takes the silence after which a rule says that a group came back", () => {
    expect(beginningOf({ sinceMs: 50, beforeMs: 40 }, 10)).toBe("back");
    expect(beginningOf({ sinceMs: 50, beforeMs: 41 }, 10)).toBeNull();
    expect(beginningOf({ sinceMs: 50, beforeMs: null }, 10)).toBe("new");
  });
});

test("more than usual arrives of what is new, back or rising", () => {
  expect(VERDICTS.filter(isRise)).toEqual(["new", "back", "rising"]);
});

test.each([
  ["new", 3.2, "new"],
  ["back", null, "returned"],
  ["rising", 7.64, "rising, 7.6 × usual"],
  ["rising", 1_234.5, "rising, 1,235 × usual"],
  ["rising", null, "rising"],
  ["falling", 0.21, "falling, 0.2 × usual"],
  ["falling", 0.01, "falling, < 0.1 × usual"],
  ["steady", 1.1, "steady"],
] as const)("%s with the factor %j is %j", (verdict, factor, words) => {
  expect(verdictWords({ verdict, factor })).toBe(words);
});
