import { describe, expect, it } from "vitest";
import { placeWords, redriveTitle, selectionTerms, selectionWords } from "@/components/redrive/redrive-title";

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

describe("where a redrive goes", () => {
  it("is its target, or its lane", () => {
    expect(placeWords({ target: "orders.audit", lane: "slow" })).toBe("to orders.audit");
    expect(placeWords({ target: null, lane: "slow" })).toBe("slow lane");
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

describe("what was selected, in one line", () => {
  it.each([
    [{ ids: ["a", "b"] }, "2 events, one by one"],
    [{ filter: {} }, "everything parked"],
    [{ filter: { to: "2026-11-20T14:00:00Z" } }, "everything parked"],
    [
      { filter: { source: ["orders"], errorCode: ["TIMEOUT", "UPSTREAM_5XX"], q: "503", to: "now" } },
      "source orders · errorCode TIMEOUT, UPSTREAM_5XX · words 503",
    ],
  ])("%j", (selection, words) => {
    expect(selectionWords(selection)).toBe(words);
  });
});
