import { describe, expect, it } from "vitest";
import {
  chartable,
  isRestricted,
  parkedBefore,
  parkedNow,
  windowed,
} from "@/components/observe/overview/parked-filter";

describe("filters of the overview", () => {
  it("has the last day when the address names no window, and only then", () => {
    expect(windowed({ source: ["orders"] })).toEqual({ source: ["orders"], from: "-24h" });
    expect(windowed({ to: "-7d" })).toEqual({ to: "-7d" });
  });

  it("links a size to all that is parked now, however old", () => {
    expect(parkedNow({ from: "-1h", to: "now", source: ["orders"] }, { errorCode: ["TIMEOUT"] })).toEqual({
      source: ["orders"],
      status: ["PENDING", "QUEUED"],
      errorCode: ["TIMEOUT"],
    });
  });

  it("links an age to the events that are that old, the one that gave it included", () => {
    const now = Date.UTC(2026, 10, 20, 14);
    expect(parkedBefore({ from: "-1h" }, 3_600_000, now)).toEqual({
      status: ["PENDING", "QUEUED"],
      to: "2026-11-20T13:00:00.001Z",
    });
  });

  it("says what charts cannot be narrowed by", () => {
    expect(chartable({ source: ["orders"], from: "-1h", aggregateId: ["order-77"], q: "503" })).toEqual({
      shown: { source: ["orders"], from: "-1h" },
      unknown: ["aggregateId", "words"],
    });
  });

  it("tells a window from a restriction", () => {
    expect(isRestricted({ from: "-1h", to: "now" })).toBe(false);
    expect(isRestricted({ tags: { orderId: ["77"] } })).toBe(true);
  });
});
