import { describe, expect, it } from "vitest";
import { fromInputValue, toInputValue, windowLabel } from "./time-window";

describe("windowLabel", () => {
  it.each([
    [{}, "Any time"],
    [{ from: "-24h" }, "Last 24 h"],
    [{ from: "-24h", to: "now" }, "Last 24 h"],
    [{ from: "now-90m" }, "Last 90 min"],
    [{ from: "2026-11-20T14:00:00Z" }, "Since 20 Nov 14:00"],
    [{ to: "2026-11-20" }, "Before 20 Nov 00:00"],
    [{ from: "2026-11-20T14:00:00Z", to: "2026-11-20T15:30:00Z" }, "20 Nov 14:00 – 20 Nov 15:30"],
    [{ from: "-2h", to: "-1h" }, "2 h ago – 1 h ago"],
  ])("%o reads %s", (window, label) => {
    expect(windowLabel(window, "utc")).toBe(label);
  });
});

it("gives back the instant that was put into the input", () => {
  const iso = "2026-11-20T14:05:00Z";
  for (const zone of ["utc", "local"] as const) {
    expect(fromInputValue(toInputValue(iso, 0, zone), zone)).toBe(iso);
  }
});

it("resolves a relative bound against now for the input", () => {
  expect(toInputValue("-1h", Date.parse("2026-11-20T14:05:00Z"), "utc")).toBe("2026-11-20T13:05");
});
