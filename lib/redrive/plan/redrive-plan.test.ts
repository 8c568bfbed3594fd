import { describe, expect, test } from "vitest";
import type { OrderedItem } from "@/lib/order/aggregate.pure";
import { aggregateRuns, sliceCount } from "./redrive-plan.pure";

const item = (id: string, aggregateId: string | null, version: bigint | null = null): OrderedItem => ({
  id,
  sourceId: "s",
  aggregateType: "order",
  aggregateId,
  version,
});

describe("the plan of a redrive", () => {
  test.each([
    [1, 1],
    [100, 1],
    [101, 2],
    [768, 12],
    [769, 12],
    [1_000_000, 12],
  ])("%i events make %i slices", (total, slices) => {
    expect(sliceCount(total)).toBe(slices);
  });

  test("orders by version, then by the time parked; without a version last", () => {
    const runs = aggregateRuns([
      item("4", "a"),
      item("3", "a"),
      item("2", "a", 9n),
      item("1", "a", 10n),
      item("0", "a", 9n),
    ]);
    expect(runs.map((run) => run.map(({ id }) => id))).toEqual([["0", "2", "1", "3", "4"]]);
  });

  test("aggregates that share an id and differ in source or type are runs of their own", () => {
    const [order, customer] = [item("1", "42"), { ...item("2", "42"), aggregateType: "customer" }];
    const [untyped, elsewhere] = [
      { ...item("3", "42"), aggregateType: null },
      { ...item("4", "42"), sourceId: "t" },
    ];
    const runs = aggregateRuns([order, customer, untyped, elsewhere, item("5", "42")]);
    expect(runs.map((run) => run.map(({ id }) => id))).toEqual([["1", "5"], ["2"], ["3"], ["4"]]);
  });

  test("events without an aggregate wait for nobody", () => {
    expect(aggregateRuns([item("1", null), item("2", null), item("3", "a"), item("4", "a")])).toHaveLength(3);
  });
});
