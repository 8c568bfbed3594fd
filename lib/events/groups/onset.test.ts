import { describe, expect, test } from "vitest";
import { onsetMinute, onsetOf, usualByHour } from "@/lib/events/groups/onset.pure";

/** Days of the same hours, and after them the hours of the present. */
function daysOf(days: number, usual: number, ...present: number[]): number[] {
  return [...Array<number>(days * 24).fill(usual), ...present];
}
const START = 7 * 24;

describe("the onset of a rise", () => {
  test.each<[string, number[], number | null]>([
    ["nothing arrived", daysOf(7, 0), null],
    ["as usual", daysOf(7, 10, 11, 9, 10), null],
    ["its first hour outside of the range", daysOf(7, 10, 10, 60, 70, 80), START + 1],
    ["the hour that is not over", daysOf(7, 10, 10, 10, 60), START + 2],
    ["a group that was never seen before", daysOf(7, 0, 0, 0, 5, 9), START + 2],
    ["one event in an hour is within the range of none", daysOf(7, 0, 1, 0, 0, 40), START + 3],
    ["a pause of six hours belongs to the rise", daysOf(7, 10, 60, ...Array<number>(6).fill(10), 60), START],
    ["a pause of seven hours ends it", daysOf(7, 10, 60, ...Array<number>(7).fill(10), 60), START + 8],
    ["the last rise, not the one before", daysOf(7, 0, 90, ...Array<number>(20).fill(0), 70, 80), START + 21],
    ["a rise that is over now", daysOf(7, 10, 60, 70, 10, 10), START],
  ])("%s", (_, hours, hour) => expect(onsetOf(hours)?.hour ?? null).toBe(hour));

  test("tells what usually arrives in its hour", () => {
    expect(onsetOf(daysOf(7, 10, 10, 60))).toEqual({ hour: START + 1, usual: 10 });
  });

  test("is the first arrival where too few days are known", () => {
    expect(onsetOf(daysOf(7, 0, 0, 0, 3, 4), START)).toEqual({ hour: START + 2, usual: null });
  });

  test("knows nothing of the hours before the store kept the flow", () => {
    // Zeros of a time in which nothing was kept are not what is usual.
    expect(usualByHour(daysOf(7, 0, 5), 5 * 24).at(-1)).toBeNull();
    expect(usualByHour(daysOf(7, 0, 5), 4 * 24).at(-1)).toMatchObject({ median: 0, days: 3 });
  });
});

test("the minute of an onset is the first with more than the whole hour usually has", () => {
  const minutes = [
    { atMs: 1, n: 4 },
    { atMs: 2, n: 6 },
    { atMs: 3, n: 1 },
  ];
  expect(onsetMinute(minutes, 10)).toBe(3);
  expect(onsetMinute(minutes, 0)).toBe(1);
  expect(onsetMinute(minutes, null)).toBe(1);
  expect(onsetMinute(minutes, 11)).toBeNull();
});
