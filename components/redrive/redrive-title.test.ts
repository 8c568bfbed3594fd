import { describe, expect, it } from "vitest";
import { redriveTitle, selectionTerms } from "@/components/redrive/redrive-title";

describe("what a redrive is called", () => {
  it("is why it was made", () => {
    expect(redriveTitle({ mode: "deliver", reason: "stock is back", total: 12 })).toBe("stock is back");
    expect(redriveTitle({ mode: "verify", reason: " ", total: 12 })).toBe("Verify 12 events");
  });
  it("counts the earlier versions that went along with what was selected", () => {
    const one = { mode: "deliver", total: 4, selection: { ids: ["a"] }, earlier: "include" } as const;
    expect(redriveTitle({ ...one, reason: "Redrive of 1 selected event" })).toBe(
      "Redrive of 1 selected event and 3 earlier",
    );
    expect(redriveTitle({ ...one, reason: "stock is back" })).toBe("stock is back");
    expect(redriveTitle({ ...one, total: 1, reason: "Redrive of 1 selected event" })).toBe(
      "Redrive of 1 selected event",
    );
  });
});

describe("what was selected", () => {
  it("is a number of named events", () => {
    expect(selectionTerms({ ids: ["a", "b"] })).toEqual({ kind: "ids", count: 2 });
  });
  it("is the terms of a filter, tags included", () => {
    expect(selectionTerms({ filter: { errorCode: ["A", "B"], to: "2026-11-20", tags: { orderId: ["77"] } } })).toEqual({
      kind: "filter",
      terms: [
        { name: "errorCode", values: ["A", "B"] },
        { name: "to", values: ["2026-11-20"] },
        { name: "tag.orderId", values: ["77"] },
      ],
    });
  });
  it.each([[null], ["all"], [{}], [{ filter: null }]])("is all, without terms, for %o", (selection) => {
    expect(selectionTerms(selection)).toEqual({ kind: "filter", terms: [] });
  });
});
