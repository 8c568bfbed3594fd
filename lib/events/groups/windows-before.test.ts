import { describe, expect, test } from "vitest";
import { windowsBefore } from "@/lib/events/groups/windows-before.pure";

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const NOW = at("22T12:34");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function shown(fromMs: number, toMs: number, sinceMs: number | null = 0) {
  const { windows, scale } = windowsBefore({ fromMs, toMs }, sinceMs);
  const text = (ms: number) => new Date(ms).toISOString().slice(8, 16);
  return { count: windows.length, first: windows[0] && `${text(windows[0].fromMs)} ${text(windows[0].toMs)}`, scale };
}

describe("the time over which what is usual is counted", () => {
  test.each([
    ["a quarter of an hour is its hour", NOW - HOUR / 4, NOW, { first: "21T12:00 21T13:00", scale: 0.25 }],
    ["an hour is the nearest one", NOW - HOUR, NOW, { first: "21T12:00 21T13:00", scale: 1 }],
    ["six hours are the nearest six", NOW - 6 * HOUR, NOW, { first: "21T07:00 21T13:00", scale: 1 }],
    ["a day is the whole day before it", NOW - DAY, NOW, { first: "20T00:00 21T00:00", scale: 1 }],
    ["22 hours are a part of a day", NOW - 22 * HOUR, NOW, { first: "20T00:00 21T00:00", scale: 22 / 24 }],
    ["three days are three whole ones", NOW - 3 * DAY, NOW, { first: "16T00:00 19T00:00", scale: 1 }],
  ])("of %s", (_, from, to, expected) => {
    expect(shown(from, to)).toEqual({ count: 7, ...expected });
  });

  test("holds no moment of the window itself", () => {
    for (const length of [HOUR / 4, HOUR, 5 * HOUR, 19 * HOUR, 20 * HOUR, DAY, 30 * DAY]) {
      const { windows } = windowsBefore({ fromMs: NOW - length, toMs: NOW }, 0);
      expect(windows[0]!.toMs, String(length)).toBeLessThanOrEqual(NOW - length + HOUR / 2);
    }
  });

  test("counts a day when the flow was kept all through its window", () => {
    expect(shown(NOW - HOUR, NOW, at("20T12:00")).count).toBe(2);
    expect(shown(NOW - HOUR, NOW, at("20T12:01")).count).toBe(1);
    expect(shown(NOW - HOUR, NOW, null).count).toBe(0);
  });
});
