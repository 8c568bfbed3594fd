import { describe, expect, it } from "vitest";
import { sparkPoints } from "@/components/charts/sparkline";

describe("sparkline", () => {
  it("fills its box: the largest at the top, zero at the bottom", () => {
    expect(sparkPoints([0, 5, 10], 60, 20)).toBe("0,20 30,10 60,0");
  });
  it("is flat at the bottom for nothing, and absent for one point", () => {
    expect(sparkPoints([0, 0], 60, 20)).toBe("0,20 60,20");
    expect(sparkPoints([3], 60, 20)).toBe("");
  });
});
