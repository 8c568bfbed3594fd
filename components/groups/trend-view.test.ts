import { describe, expect, it } from "vitest";
import { trendOf } from "@/components/groups/trend-view";

describe("trend of a group", () => {
  it.each([
    [[], "quiet"],
    [[0, 0, 0], "quiet"],
    [[0, 0, 9, 0], "new"],
    [[0, 0, 0, 9], "new"],
    [[9], "new"],
    [[4, 4, 8, 0], "rising"],
    [[4, 4, 4, 8], "rising"],
    [[4, 4, 7, 0], "steady"],
    [[4, 4, 2, 0], "falling"],
    [[4, 4, 3, 0], "steady"],
    [[4, 4, 0, 0], "falling"],
  ])("%j is %s", (hourly, kind) => {
    expect(trendOf(hourly).kind).toBe(kind);
  });

  it("does not call an hour that has just begun falling", () => {
    const steady = [...Array<number>(23).fill(6)];
    expect(trendOf([...steady, 0]).kind).toBe("steady");
    expect(trendOf([...steady, 1]).kind).toBe("steady");
  });

  it("says how much it rises", () => {
    expect(trendOf([10, 10, 34, 3]).words).toBe("rising: 3.4 × the usual hour");
    expect(trendOf([1, 1, 2, 120]).words).toBe("rising: 120 × the usual hour");
  });
});
