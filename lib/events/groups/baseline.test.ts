import { describe, expect, test } from "vitest";
import { factorOf, trendOf, usualOf } from "@/lib/events/groups/baseline.pure";

describe("what usually arrives", () => {
  test.each([
    [[], null],
    [[4, 4], null],
    [[4, 90, 6], { median: 6, spread: 2.9652, days: 3 }],
    [[0, 0, 0, 0], { median: 0, spread: 1, days: 4 }],
    [[100, 100, 100, 100, 900], { median: 100, spread: 10, days: 5 }],
    [[10, 20, 30, 40], { median: 25, spread: 14.826, days: 4 }],
  ])("of %j", (counts, usual) => {
    const found = usualOf(counts);
    if (usual === null) return expect(found).toBeNull();
    expect(found).toMatchObject({ median: usual.median, days: usual.days });
    expect(found!.spread).toBeCloseTo(usual.spread, 4);
  });

  test.each([
    [3, [0, 0, 0], "usual"],
    [4, [0, 0, 0], "rising"],
    [130, [100, 100, 100], "usual"],
    [140, [100, 100, 100], "usual"],
    [150, [100, 100, 100], "rising"],
    [80, [100, 100, 100], "usual"],
    [60, [100, 100, 100], "falling"],
    [1_000, [5, 5], "unknown"],
    // Days that differ widely: the same number says less.
    [250, [20, 100, 180, 40, 150], "usual"],
  ])("%d against %j is %s", (count, days, trend) => {
    expect(trendOf(count, usualOf(days))).toBe(trend);
  });

  test("a factor needs something usual", () => {
    expect(factorOf(30, usualOf([10, 10, 10]))).toBe(3);
    expect(factorOf(30, usualOf([0, 0, 0]))).toBeNull();
    expect(factorOf(30, null)).toBeNull();
  });
});
