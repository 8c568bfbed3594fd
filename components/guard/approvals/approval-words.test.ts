import { describe, expect, it } from "vitest";
import { termRows } from "./approval-words";

describe("an approval in words", () => {
  it("names what is approved, and what is missing from it", () => {
    const terms = {
      ...{ manifest: "", events: 1_200, lane: "main", target: null, ratePerSecond: 7, canary: null, recipe: null },
      ...{ brake: { ratio: 0.2, window: 50 }, earlier: "pass", despite: [] },
      startAt: "2026-11-23T02:00:00.000Z",
    };
    const rows = Object.fromEntries(termRows({ terms }).map(({ name, words }) => [name, words]));
    expect(rows).toMatchObject({ Events: "1,200", Lane: "main", Canary: "none", Rate: "7/s at most" });
    expect(rows.Brake).toMatch(/20 % of the last 50/);
    expect(rows.Starts).toBe("not before 2026-11-23 02:00 UTC");
    expect(rows.Order).toMatch(/stay parked/);
  });
});
