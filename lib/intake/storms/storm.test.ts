import { expect, test } from "vitest";
import { endOfMinute, isStored } from "./storm.pure";

const storedOf = (count: number, limit: number) =>
  Array.from({ length: count }, (_, index) => index + 1).filter((place) => isStored(place, limit));

test("the first are stored, then each second, fourth, eighth", () => {
  expect(storedOf(40, 5)).toEqual([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40]);
  expect(storedOf(9, 1)).toEqual([1, 2, 4, 8]);
});

test.each([
  [1_000, 1_000_000],
  [7, 50_000],
  [100, 99],
])(
  "with a limit of %d, of %d arrivals limit * (1 + log2(n / limit) / 2) are stored, rounded by one in each step",
  (limit, n) => {
    const steps = Math.max(0, Math.log2(n / limit));
    const wanted = n <= limit ? n : limit * (1 + steps / 2);
    const stored = storedOf(n, limit).length;
    expect(Math.abs(stored - wanted)).toBeLessThanOrEqual(Math.ceil(steps) + 0.1 * limit);
  },
);

test("a place that is stored stays stored, however many follow: batches decide alike", () => {
  const whole = storedOf(10_000, 30);
  const parts = [
    storedOf(10_000, 30).filter((place) => place <= 777),
    storedOf(10_000, 30).filter((place) => place > 777),
  ];
  expect(parts.flat()).toEqual(whole);
});

test("the minute ends at the full minute", () => {
  expect(endOfMinute(Date.parse("2026-11-22T02:44:00.000Z"))).toBe(Date.parse("2026-11-22T02:45:00.000Z"));
  expect(endOfMinute(Date.parse("2026-11-22T02:44:59.999Z"))).toBe(Date.parse("2026-11-22T02:45:00.000Z"));
});
