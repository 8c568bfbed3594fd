import { expect, test } from "vitest";
import { windowsBefore } from "@/lib/observe/windows-before.pure";

const NOW = Date.parse("2026-11-22T12:34:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const times = (from: number, to: number, sinceMs: number | null = 0) =>
  windowsBefore({ fromMs: from, toMs: to }, { sinceMs, nowMs: NOW }).map(({ fromMs, toMs }) => [
    (from - fromMs) / DAY,
    toMs - fromMs === to - from,
  ]);
const days = (count: number, step = 1) => Array.from({ length: count }, (_, index) => [(index + 1) * step, true]);

test.each([
  ["an hour is that of seven days", NOW - HOUR, NOW, days(7)],
  ["a day is as many as are kept by the minute", NOW - DAY, NOW, days(6)],
  ["a day of whole hours is seven", Date.parse("2026-11-21T12:00:00Z"), Date.parse("2026-11-22T12:00:00Z"), days(7)],
  ["three days are moved by three", Date.parse("2026-11-19T12:00:00Z"), Date.parse("2026-11-22T12:00:00Z"), days(7, 3)],
  ["what is older than a week and not of whole hours is not known", NOW - 9 * DAY, NOW - 9 * DAY + 1, []],
])("the window before %s", (_, from, to, expected) => {
  expect(times(from, to)).toEqual(expected);
});

test("a day counts when the flow was kept all through its window", () => {
  expect(times(NOW - HOUR, NOW, NOW - 2 * DAY - HOUR)).toEqual(days(2));
  expect(times(NOW - HOUR, NOW, NOW - 2 * DAY - HOUR + 1)).toEqual(days(1));
  expect(times(NOW - HOUR, NOW, null)).toEqual([]);
});
