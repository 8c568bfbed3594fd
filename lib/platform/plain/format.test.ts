import { describe, expect, it } from "vitest";
import {
  formatAbsolute,
  formatAgo,
  formatBytes,
  formatCompact,
  formatDuration,
  formatNumber,
  formatRate,
  formatShare,
  shortenId,
  visible,
} from "./format.pure";

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

describe("numbers", () => {
  it.each([
    [12_481, "12,481"],
    [0, "0"],
  ])("%d is %s", (value, text) => expect(formatNumber(value)).toBe(text));

  it.each([
    [999, "999"],
    [1_000, "1k"],
    [12_481, "12.5k"],
    [999_499, "999k"],
    [999_500, "1M"],
    [3_230_000, "3.2M"],
  ])("%d is %s where a place is narrow", (value, text) => expect(formatCompact(value)).toBe(text));

  it.each([
    [5, "5/s"],
    [21.44, "21.4/s"],
    [1_234.4, "1,234/s"],
    [0.04, "0/s"],
  ])("%d a second is %s", (value, text) => expect(formatRate(value)).toBe(text));

  it.each([
    [0, "0%"],
    [0.982, "98.2%"],
    [0.99999, "99.9%"],
    [1, "100%"],
    [0.0001, "0.1%"],
  ])("a share of %d is %s: whole only when it is whole", (share, text) => expect(formatShare(share)).toBe(text));

  it.each([
    [812, "812 B"],
    [1_434, "1.4 KB"],
    [3 * 1024 * 1024, "3 MB"],
    [20 * 1024 * 1024, "20 MB"],
  ])("%d bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

describe("times", () => {
  it.each([
    [240, "240 ms"],
    [8 * S, "8 s"],
    [41 * M, "41 min"],
    [9 * H + 12 * M, "9h 12m"],
    [2 * H, "2h"],
    [6 * D + 4 * H, "6d 4h"],
  ])("%d ms last %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  it.each([
    [-2 * S, "just now"],
    [-40 * S, "40s ago"],
    [-3 * M, "3m ago"],
    [-26 * H, "1d ago"],
    [12 * M, "in 12m"],
  ])("%d ms from now is %s", (distance, text) => expect(formatAgo(1e12 + distance, 1e12)).toBe(text));

  it("names the zone with every absolute time", () => {
    const at = Date.parse("2026-11-20T14:02:11Z");
    expect(formatAbsolute(at, "utc")).toBe("2026-11-20 14:02:11 UTC");
    expect(formatAbsolute(at, "local")).toMatch(/^2026-11-\d\d \d\d:\d\d:11 [+-]\d\d:\d\d$/);
  });
});

it("cuts long ids in the middle and leaves short ones whole", () => {
  expect(shortenId("0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", 4, 2)).toBe("0199…5b");
  expect(shortenId("order-77", 4, 2)).toBe("order-77");
  const shortened = shortenId("\u{1f600}".repeat(20), 4, 2);
  expect(shortened.isWellFormed()).toBe(true);
  expect(shortened).toBe(`${"\u{1f600}".repeat(4)}…${"\u{1f600}".repeat(2)}`);
});

it.each([
  ["PAYMENT\u202eDEKCOLB", "PAYMENT⟨202E⟩DEKCOLB"],
  ["\u202e000.1", "⟨202E⟩000.1"],
  ["ad\u200bmin", "ad⟨200B⟩min"],
  ["mar\u00adia", "mar⟨00AD⟩ia"],
  ["a\u200db", "a⟨200D⟩b"],
  ["x\u{e0041}", "x⟨E0041⟩"],
  ["\u001b[2J", "⟨001B⟩[2J"],
  ["Zürich, 東京, \u05e9\u05dc\u05d5\u05dd\n\ttab", "Zürich, 東京, \u05e9\u05dc\u05d5\u05dd\n\ttab"],
  ["\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f"],
])("what cannot be seen is shown by its number, the rest stays: %j", (text, shown) =>
  expect(visible(text)).toBe(shown),
);
