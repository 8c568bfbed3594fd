import { describe, expect, it } from "vitest";
import { confirmationFor, isConfirmed } from "@/components/redrive/dialog/redrive-draft";

describe("confirming a batch", () => {
  it.each([
    [1, "exact", { kind: "click" }],
    [1_000, "exact", { kind: "click" }],
    [1_001, "exact", { kind: "typed", expected: "1,001" }],
    [400, "atLeast", { kind: "typed", expected: "400" }],
    [400, "estimated", { kind: "typed", expected: "400" }],
    [null, "exact", { kind: "typed", expected: "all matching" }],
  ] as const)("asks for %s %s events: %o", (count, kind, expected) => {
    expect(confirmationFor(count, kind, 1_000)).toEqual(expected);
  });

  const typed = confirmationFor(12_300, "exact", 1_000);
  it.each(["12300", "12,300", " 12 300 ", "12.300", "12’300"])("takes %j for 12,300", (text) => {
    expect(isConfirmed(typed, text)).toBe(true);
  });
  it.each(["", "1230", "123000", "12,301", "-12300", "all"])("does not take %j for 12,300", (text) => {
    expect(isConfirmed(typed, text)).toBe(false);
  });
  it("takes the phrase in any case", () => {
    expect(isConfirmed(confirmationFor(null, "exact", 1_000), "All matching")).toBe(true);
  });
});
