import { describe, expect, test } from "vitest";
import { trendOf, usualOf } from "@/lib/events/groups/baseline.pure";
import {
  beginningOf,
  isRise,
  risesStill,
  VERDICTS,
  verdictOf,
  verdictWords,
} from "@/lib/events/groups/group-verdict.pure";

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

test.each([
  ["as much as in the other hours", true, { count: 5, trend: "usual" }, { count: 240, hours: 24 }],
  ["less than half of them", false, { count: 4, trend: "usual" }, { count: 240, hours: 24 }],
  ["much less, and more than usual in that hour", true, { count: 4, trend: "rising" }, { count: 240, hours: 24 }],
  ["nothing", false, { count: 0, trend: "usual" }, { count: 4, hours: 24 }],
] as const)("a rise with %s in the last hour: goes on is %j", (_, goesOn, lastHour, window) => {
  expect(risesStill(lastHour, window)).toBe(goesOn);
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
  ["falling", 9.9, "falling, was 9.9 × usual"],
  ["steady", 1.1, "steady"],
] as const)("%s with the factor %j is %j", (verdict, factor, words) => {
  expect(verdictWords({ verdict, factor })).toBe(words);
});
