import { describe, expect, test } from "vitest";
import { statementName } from "./db";
import { timestamptzToIso, timestamptzToMs } from "./types";

describe("timestamptzToMs reads what the server writes", () => {
  test.each([
    ["2026-11-20 09:33:12+00", "2026-11-20T09:33:12.000Z"],
    ["2026-11-20 09:33:12.1+00", "2026-11-20T09:33:12.100Z"],
    ["2026-11-20 09:33:12.123+00", "2026-11-20T09:33:12.123Z"],
    ["2026-11-20 09:33:12.123456+00", "2026-11-20T09:33:12.123Z"],
    ["2026-11-20 09:33:12.999999+00", "2026-11-20T09:33:12.999Z"],
    ["2026-11-20 09:33:12.007+00", "2026-11-20T09:33:12.007Z"],
    ["1969-12-31 23:59:59.5+00", "1969-12-31T23:59:59.500Z"],
    ["2026-11-20 09:33:12.123+05:30", "2026-11-20T04:03:12.123Z"],
    ["2026-11-20 09:33:12-08", "2026-11-20T17:33:12.000Z"],
  ])("%s", (text, iso) => {
    expect(new Date(timestamptzToMs(text)).toISOString()).toBe(iso);
    expect(timestamptzToIso(text)).toBe(iso);
  });

  test("every millisecond survives", () => {
    for (let ms = 0; ms < 1_000; ms++) {
      const text = `2026-11-20 09:33:12.${String(ms).padStart(3, "0")}+00`.replace(/\.?0+\+00$/, "+00");
      expect(timestamptzToMs(text) % 1_000).toBe(ms);
    }
  });

  test("infinity is a time, nonsense is none", () => {
    expect(timestamptzToMs("infinity")).toBe(Number.POSITIVE_INFINITY);
    expect(() => timestamptzToMs("0044-03-15 00:00:00+00 BC")).toThrow(RangeError);
  });
});

test("a statement's name follows its text", () => {
  expect(statementName("a", "select 1")).toBe(statementName("a", "select 1"));
  expect(statementName("a", "select 1")).not.toBe(statementName("a", "select 2"));
});
