import fc from "fast-check";
import { expect, test } from "vitest";
import { comparePlaces } from "@/lib/order/place.pure";

test("the order within an aggregate is total: no two workers can disagree on it", () => {
  const any = fc.record({ id: fc.uuid(), version: fc.option(fc.bigInt({ min: -5n, max: 5n })) });
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      expect(Math.sign(comparePlaces(a, b)) + Math.sign(comparePlaces(b, a))).toBe(0);
      if (comparePlaces(a, b) <= 0 && comparePlaces(b, c) <= 0) expect(comparePlaces(a, c)).toBeLessThanOrEqual(0);
    }),
  );
});
