import { describe, expect, it } from "vitest";
import { trendOf } from "@/components/groups/trend-view";

describe("trend of a group", () => {
  it.each([
    [[], "quiet"],
    [[0, 0, 0], "quiet"],
    [[0, 0, 9], "new"],
    [[9], "new"],
    [[4, 4, 8], "rising"],
    [[4, 4, 7], "steady"],
    [[4, 4, 2], "falling"],
    [[4, 4, 3], "steady"],
    [[4, 4, 0], "falling"],
  ])("%j is %s", (hourly, kind) => {
    expect(trendOf(hourly).kind).toBe(kind);
  });

  it("says how much it rises", () => {
    expect(trendOf([10, 10, 34]).words).toBe("rising: 3.4 × the usual hour");
    expect(trendOf([1, 1, 120]).words).toBe("rising: 120 × the usual hour");
  });
});
