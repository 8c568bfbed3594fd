import { describe, expect, it } from "vitest";
import { fromTyped, toTyped, windowLabel } from "./time-window.browser";

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

describe("a bound that is typed", () => {
  it("comes back as it was shown, in either zone", () => {
    for (const iso of ["2026-11-20T14:05:00Z", "2026-11-20T14:05:09Z"]) {
      for (const zone of ["utc", "local"] as const) expect(fromTyped(toTyped(iso, zone), zone)).toBe(iso);
    }
    expect(toTyped("2026-11-20T14:05:00Z", "utc")).toBe("2026-11-20 14:05");
  });

  it("may be relative, a day, or whatever else the filter understands", () => {
    expect(fromTyped(" -2h ", "utc")).toBe("-2h");
    expect(toTyped("-2h", "utc")).toBe("-2h");
    expect(fromTyped("2026-11-20", "utc")).toBe("2026-11-20T00:00:00Z");
    expect(fromTyped("2026-11-20T14:05:00+02:00", "utc")).toBe("2026-11-20T14:05:00+02:00");
  });

  it("is refused when it is no time", () => {
    for (const text of ["yesterday", "2026-13-01", "14:05", ""]) expect(fromTyped(text, "utc")).toBeNull();
  });
});
