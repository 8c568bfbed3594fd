import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AggregateName, aggregateKey, aggregateKeyOf, comparePlaces } from "@/lib/order/aggregate.pure";

describe("the key of an aggregate", () => {
  test("is equal for the same source, type and id only", () => {
    const name = fc.oneof(fc.string(), fc.constantFrom("", ":", "a:b", "a", "b", '"', '","', "\u0000", "\ud800"));
    const aggregate = fc.record({ sourceId: name, aggregateType: fc.option(name), aggregateId: name });
    const same = (left: AggregateName, right: AggregateName) =>
      left.sourceId === right.sourceId &&
      (left.aggregateType ?? "") === (right.aggregateType ?? "") &&
      left.aggregateId === right.aggregateId;
    fc.assert(
      fc.property(aggregate, aggregate, (left, right) => {
        expect(aggregateKey(left) === aggregateKey(right)).toBe(same(left, right));
      }),
    );
  });

  test("no type is a type of its own", () => {
    const order = { sourceId: "s", aggregateType: "order", aggregateId: "42" };
    expect(aggregateKey({ ...order, aggregateType: null })).not.toBe(aggregateKey(order));
    expect(aggregateKey({ ...order, aggregateType: null })).toBe(aggregateKey({ ...order, aggregateType: "" }));
  });

  test("an event without an aggregate has none", () => {
    expect(aggregateKeyOf({ sourceId: "s", aggregateType: "order", aggregateId: null })).toBeNull();
  });
});

test("the order within an aggregate is total: no two workers can disagree on it", () => {
  const any = fc.record({ id: fc.uuid(), version: fc.option(fc.bigInt({ min: -5n, max: 5n })) });
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      expect(Math.sign(comparePlaces(a, b)) + Math.sign(comparePlaces(b, a))).toBe(0);
      if (comparePlaces(a, b) <= 0 && comparePlaces(b, c) <= 0) expect(comparePlaces(a, c)).toBeLessThanOrEqual(0);
    }),
  );
});
