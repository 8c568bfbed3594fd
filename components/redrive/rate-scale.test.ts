import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { POSITIONS, parseRate, positionOf, RATE_MIN, rateAt } from "@/components/redrive/rate-scale";

describe("rate slider", () => {
  it("ends exactly at its ends", () => {
    expect(rateAt(0, 50)).toBe(RATE_MIN);
    expect(rateAt(POSITIONS, 47.3)).toBe(47.3);
    expect(positionOf(47.3, 47.3)).toBe(POSITIONS);
    expect(positionOf(RATE_MIN, 47.3)).toBe(0);
    expect(positionOf(900, 50)).toBe(POSITIONS);
    expect(rateAt(99, 1.285)).toBe(1.285);
  });

  it("never goes down when pushed up, and returns to about where it was put", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99 }), fc.double({ min: 1, max: 5_000, noNaN: true }), (position, max) => {
        expect(rateAt(position + 1, max)).toBeGreaterThanOrEqual(rateAt(position, max));
        expect(rateAt(position, max)).toBeLessThanOrEqual(max);
        expect(Math.abs(positionOf(rateAt(position, max), max) - position)).toBeLessThanOrEqual(2);
      }),
    );
  });

  it.each([
    ["5", 5],
    [" 0.5 ", 0.5],
    ["0,5", 0.5],
    ["100000", 100_000],
    ["", null],
    ["0", null],
    ["-1", null],
    ["100001", null],
    ["fast", null],
    ["Infinity", null],
  ])("reads %j as %s", (text, rate) => {
    expect(parseRate(text)).toBe(rate);
  });
});
