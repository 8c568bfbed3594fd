import { describe, expect, test } from "vitest";
import { budgetRouteOf, type RouteFacts, routeOf } from "./fallback.pure";

const facts = (over: Partial<RouteFacts> = {}): RouteFacts => ({
  fallback: { kind: "slow-lane" },
  own: "orders",
  away: true,
  refuses: true,
  standIn: { id: "orders.slow", takes: true },
  sentTo: null,
  aggregateSentTo: null,
  ...over,
});
const defer = { kind: "defer", deferMs: 7_000 } as const;

describe("the route of an item", () => {
  test.each<[string, Partial<RouteFacts>, string | number]>([
    ["no fallback: its own target", { fallback: null }, "own"],
    ["its target takes nothing: the other one", {}, "stand-in"],
    ["its target takes sends: its own", { away: false, refuses: false }, "own"],
    ["the other takes nothing either: its own", { standIn: { id: "orders.slow", takes: false } }, "own"],
    ["there is no other: its own", { standIn: null }, "own"],
    ["it was sent to its own, and may have arrived: it waits", { sentTo: "orders" }, 10_000],
    ["it was sent to its own, which takes sends: its own", { sentTo: "orders", away: false, refuses: false }, "own"],
    ["it was sent to the other, its own is back: the other", { sentTo: "orders.slow", away: false }, "stand-in"],
    [
      "it was sent to the other, which is away: it waits",
      { sentTo: "orders.slow", standIn: { id: "orders.slow", takes: false } },
      10_000,
    ],
    ["its aggregate's last is not confirmed at its own: it waits", { aggregateSentTo: "orders" }, 10_000],
    [
      "its aggregate's last is not confirmed at the other: the other",
      { aggregateSentTo: "orders.slow", away: false },
      "stand-in",
    ],
    ["its aggregate's last was sent to a third: by its own target's state", { aggregateSentTo: "billing" }, "stand-in"],
    ["it would be refused: deferred", { fallback: defer }, 7_000],
    ["it would only be held: its own", { fallback: defer, refuses: false }, "own"],
  ])("%s", (_, over, expected) => {
    const route = routeOf(facts(over));
    expect(route.kind === "wait" ? route.waitMs : route.kind).toBe(expected);
  });

  test("without a retry budget only what did not arrive and has no order goes elsewhere", () => {
    const at = { sent: "no", ordered: false, standInTakes: true } as const;
    expect(budgetRouteOf({ kind: "slow-lane" }, at)).toEqual({ kind: "stand-in" });
    for (const change of [{ sent: "maybe" }, { ordered: true }, { standInTakes: false }] as const)
      expect(budgetRouteOf({ kind: "slow-lane" }, { ...at, ...change })).toEqual({ kind: "wait", waitMs: 60_000 });
    expect(budgetRouteOf(defer, at)).toEqual({ kind: "wait", waitMs: 7_000 });
    expect(budgetRouteOf(null, at)).toBeNull();
  });
});
