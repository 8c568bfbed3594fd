import { describe, expect, test } from "vitest";
import { effectiveRate, sendTimeMs } from "./redrive-rate";

const rates = { orders: 40, billing: 10, bulk: null };

describe("the rate of a redrive", () => {
  test.each([
    [null, ["orders"], 40],
    [null, ["orders", "billing"], 50],
    [25, ["orders", "billing"], 25],
    [90, ["orders"], 40],
    [null, ["orders", "bulk"], null],
    [7, ["bulk"], 7],
    [7, [], 7],
    [null, [], null],
    [null, ["unknown"], null],
  ])("asked %s over %j moves at %s", (asked, sources, expected) => {
    expect(effectiveRate(asked, sources, rates)).toBe(expected);
  });

  test.each([
    [null, { orders: 400, billing: 50 }, 10_000],
    [null, { orders: 40, billing: 50 }, 5_000],
    [9, { orders: 40, billing: 50 }, 10_000],
    [null, { bulk: 1_000_000 }, null],
    [null, { orders: 0 }, 0],
  ])("asked %s for %o takes %s ms", (asked, bySource, expected) => {
    expect(sendTimeMs(asked, bySource, rates)).toBe(expected);
  });
});
