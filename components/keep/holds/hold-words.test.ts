import { describe, expect, it } from "vitest";
import { type HoldDraft, holdArchiveFilter, holdFilter, holdLimits, holdOver, holdRequest } from "./hold-words";

const DRAFT: HoldDraft = {
  ...{ scopeName: "aggregateId", value: " order-77 ", tagName: "", aggregateType: "", source: "", from: "", to: "" },
};

describe("the draft of a legal hold", () => {
  it("is the request of the API, whatever the scope", () => {
    const scopeOf = (part: Partial<HoldDraft>) => {
      const result = holdRequest({ ...DRAFT, ...part }, "a claim");
      return result.ok ? result.request.scope : result.errors;
    };
    expect(scopeOf({})).toEqual({ aggregateId: "order-77" });
    expect(scopeOf({ aggregateType: "order", source: "orders" })).toEqual({
      ...{ aggregateId: "order-77", aggregateType: "order", source: "orders" },
    });
    expect(scopeOf({ scopeName: "tag", tagName: "customerId", value: "42", aggregateType: "order" })).toEqual({
      tag: { name: "customerId", value: "42" },
    });
    expect(scopeOf({ scopeName: "eventId", value: "e-1", source: "orders" })).toEqual({
      eventId: "e-1",
      source: "orders",
    });
    expect(scopeOf({ scopeName: "errorCode", value: "TIMEOUT" })).toEqual({ errorCode: "TIMEOUT" });
    expect(scopeOf({ scopeName: "source", value: "orders", source: "billing" })).toEqual({ source: "orders" });
    expect(scopeOf({ value: "  " })).toEqual({ value: "Name what it covers." });
    expect(scopeOf({ scopeName: "tag" })).toEqual({ tagName: "Name the tag." });
  });

  it("has a window whose end is after its start, or is open", () => {
    const wrong = holdRequest({ ...DRAFT, from: "2026-11-02T00:00", to: "2026-11-01T00:00" }, "a claim");
    expect(wrong).toEqual({ ok: false, errors: { to: "The end must be after the start." } });
    const open = holdRequest({ ...DRAFT, from: "2026-11-01T00:00Z" }, "a claim");
    expect(open).toMatchObject({ ok: true, request: { from: "2026-11-01T00:00:00.000Z", to: null } });
  });
});

describe("what a legal hold covers", () => {
  it("is said in words, and is a filter of the events and of the archive", () => {
    const scope = { tag: { name: "customerId", value: "42" }, source: "orders" };
    expect(holdOver(scope)).toEqual({ label: "tag", value: "customerId=42" });
    expect(holdLimits(scope)).toBe("in orders only");
    expect(holdFilter({ scope, from: null, to: "2026-11-01T00:00:00.000Z" })).toEqual({
      ...{ source: ["orders"], tags: { customerId: ["42"] }, to: "2026-11-01T00:00:00.000Z" },
    });
    expect(holdArchiveFilter(scope)).toBeNull();
    const aggregate = { aggregateId: "order-77", aggregateType: "order" };
    expect(holdLimits(aggregate)).toBe("of type order, in all sources");
    expect(holdArchiveFilter(aggregate)).toEqual({ aggregateId: "order-77" });
    expect(holdLimits({ source: "orders" })).toBe("");
  });
});
