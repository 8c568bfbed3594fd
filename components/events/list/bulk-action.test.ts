import { describe, expect, it } from "vitest";
import type { EventOut } from "@/lib/events/events.shapes";
import { ALL, NOTHING, toggle } from "@/lib/selection/selection.browser";
import { commonScope, holdsNone, mayHoldIgnored } from "./bulk-action";

const event = (id: string, part: Partial<EventOut> = {}) =>
  ({
    id,
    eventId: `e-${id}`,
    aggregateId: `agg-${id}`,
    errorCode: "TIMEOUT",
    source: "orders",
    status: "PENDING",
    ...part,
  }) as EventOut;
const both = toggle(toggle(NOTHING, "1"), "2");

describe("the scope offered for a control", () => {
  it("is the event for one event", () => {
    expect(commonScope(toggle(NOTHING, "1"), {}, [event("1"), event("2")])).toEqual({
      eventId: "e-1",
      source: "orders",
    });
  });

  it("is the narrowest thing that all selected events share", () => {
    const same = { aggregateId: "order-77", aggregateType: "order" };
    expect(commonScope(both, {}, [event("1", same), event("2", same)])).toEqual({ ...same, source: "orders" });
    expect(commonScope(both, {}, [event("1", same), event("2", { ...same, source: "y" })])).toEqual(same);
    expect(commonScope(both, {}, [event("1"), event("2")])).toEqual({ errorCode: "TIMEOUT", source: "orders" });
    expect(commonScope(both, {}, [event("1"), event("2", { errorCode: "X" })])).toEqual({ source: "orders" });
    expect(commonScope(both, {}, [event("1"), event("2", { errorCode: "X", source: "y" })])).toBeNull();
  });

  it("is not guessed when a selected row is not known any more", () => {
    expect(commonScope(both, {}, [event("1")])).toBeNull();
  });

  it("does not take a missing aggregate for a common one", () => {
    const none = { aggregateId: null };
    expect(commonScope(both, {}, [event("1", none), event("2", none)])).toEqual({
      errorCode: "TIMEOUT",
      source: "orders",
    });
  });

  it("comes from the filter when all matching are selected, whatever is loaded", () => {
    expect(commonScope(ALL, { errorCode: ["A"], source: ["s"] }, [event("1")])).toEqual({
      errorCode: "A",
      source: "s",
    });
    expect(commonScope(ALL, { errorCode: ["A", "B"] }, [event("1")])).toBeNull();
  });
});

it("offers release only where something ignored may be", () => {
  expect(mayHoldIgnored(both, {}, [event("1"), event("2")])).toBe(false);
  expect(mayHoldIgnored(both, {}, [event("1"), event("2", { status: "IGNORED" })])).toBe(true);
  expect(mayHoldIgnored(ALL, { status: ["PENDING"] }, [])).toBe(false);
  expect(mayHoldIgnored(ALL, {}, [])).toBe(true);
});

describe("whether nothing selected is in a state", () => {
  const ignored = [event("1", { status: "IGNORED" }), event("2", { status: "IGNORED" })];
  const asOf = "2026-11-22T00:00:00Z";
  const exact = (value: number) => ({ value, kind: "exact" as const, asOf });

  it("is known of rows that are all loaded", () => {
    expect(holdsNone(both, ["PENDING"], ignored, undefined)).toBe(true);
    expect(holdsNone(both, ["PENDING"], [ignored[0]!, event("2")], undefined)).toBe(false);
    expect(holdsNone(both, ["PENDING"], [ignored[0]!], undefined)).toBe(false);
  });

  it("is known of all that match by an exact count alone", () => {
    const all = ALL;
    expect(holdsNone(all, ["PENDING"], ignored, { total: exact(7), byStatus: { IGNORED: exact(7) } })).toBe(true);
    expect(holdsNone(all, ["PENDING"], [], { total: exact(7), byStatus: { PENDING: exact(1) } })).toBe(false);
    expect(holdsNone(all, ["PENDING"], [], { total: { ...exact(9), kind: "atLeast" }, byStatus: {} })).toBe(false);
    expect(holdsNone(all, ["PENDING"], [], undefined)).toBe(false);
  });

  it("is known of settled events, too: a redriven one counts when it is confirmed", () => {
    const settled = ["IGNORED", "CONFIRMED"] as const;
    const redriven = event("1", { status: "REDRIVEN", confirmedAt: null });
    expect(holdsNone(both, settled, [redriven, event("2")], undefined)).toBe(true);
    expect(holdsNone(both, settled, [redriven], undefined)).toBe(false);
    expect(holdsNone(both, settled, [redriven, event("2", { status: "IGNORED" })], undefined)).toBe(false);
    const confirmed = { ...redriven, confirmedAt: "2026-11-20T11:00:00Z" };
    expect(holdsNone(both, settled, [confirmed, event("2")], undefined)).toBe(false);
    expect(holdsNone(both, ["REDRIVEN"], [confirmed, event("2")], undefined)).toBe(false);
    const all = ALL;
    const counts = { total: exact(7), byStatus: { REDRIVEN: exact(7), CONFIRMED: exact(0) } };
    expect(holdsNone(all, settled, [], counts)).toBe(true);
    expect(holdsNone(all, settled, [], { ...counts, byStatus: { CONFIRMED: exact(1) } })).toBe(false);
    expect(holdsNone(all, settled, [], { ...counts, total: { ...exact(9), kind: "atLeast" } })).toBe(false);
  });
});
