import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDelayMs, parseHttpDate, parseRetryAfter } from "@/lib/retry/retry-after";

const NOW_MS = Date.UTC(2026, 10, 20, 9, 0, 0);

describe("parseRetryAfter", () => {
  it.each([
    ["0", 0],
    ["7", 7_000],
    ["  7\t", 7_000],
    ["007", 7_000],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
    ["Fri, 20 Nov 2026 09:01:30 GMT", 90_000],
    ["Friday, 20-Nov-26 09:01:30 GMT", 90_000],
    ["Fri Nov 20 09:01:30 2026", 90_000],
    ["Fri Nov 20 08:59:59 2026", 0],
    ["Sun Nov  1 09:00:00 2026", 0],
  ])("reads %j as %d ms", (value, expected) => {
    expect(parseRetryAfter(value, NOW_MS)).toBe(expected);
  });

  it.each([
    "",
    " ",
    "-5",
    "+5",
    "5.0",
    "5s",
    "5, 6",
    "1e3",
    "0x10",
    "Infinity",
    "soon",
    "2026-11-20T09:01:30Z",
    "Fri, 20 Nov 2026 09:01:30",
    "Fri, 20 Nov 2026 09:01:30 UTC",
    "Fri, 20 Nov 2026 09:01:30 +0000",
    "x Fri, 20 Nov 2026 09:01:30 GMT",
    "Fri, 20 Nov 2026 09:01:30 GMT x",
    "Fri, 20 nov 2026 09:01:30 GMT",
    "Fri, 20 Xyz 2026 09:01:30 GMT",
    "Fri, 2 Nov 2026 09:01:30 GMT",
    "Fri, 31 Feb 2026 09:01:30 GMT",
    "Fri, 00 Nov 2026 09:01:30 GMT",
    "Fri, 20 Nov 2026 24:00:00 GMT",
    "Fri, 20 Nov 2026 09:60:00 GMT",
    "Fri, 20 Nov 2026 09:01:61 GMT",
    "Foo, 20 Nov 2026 09:01:30 GMT",
    "Friday, 20-Nov-2026 09:01:30 GMT",
    "xFriday, 20-Nov-26 09:01:30 GMT",
    "Friday, 20-Nov-26 09:01:30 GMTx",
    "Friday, 20-Nov-26 09:01:30",
    "xFri Nov 20 09:01:30 2026",
    "Fri Nov 20 09:01:30 2026x",
    "Fri Nov 20 09:01:30 2026 GMT",
    "Fri Nov 1 09:01:30 2026",
  ])("takes %j for malformed", (value) => {
    expect(parseRetryAfter(value, NOW_MS)).toBeNull();
  });

  it("is never negative and never NaN, whatever comes in", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const ms = parseRetryAfter(value, NOW_MS);
        expect(ms === null || ms >= 0).toBe(true);
      }),
    );
  });

  it("gives back any whole second that was written as a date", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), (seconds) => {
        expect(parseHttpDate(new Date(seconds * 1000).toUTCString(), NOW_MS)).toBe(seconds * 1000);
      }),
    );
  });
});

describe("parseHttpDate", () => {
  it("allows a leap second, the last ms of a day and the first and last day of a month", () => {
    expect(parseHttpDate("Sat, 31 Dec 2016 23:59:60 GMT", NOW_MS)).toBe(Date.UTC(2017, 0, 1));
    expect(parseHttpDate("Tue, 01 Dec 2026 00:00:00 GMT", NOW_MS)).toBe(Date.UTC(2026, 11, 1));
    expect(parseHttpDate("Sat, 29 Feb 2020 23:59:59 GMT", NOW_MS)).toBe(Date.UTC(2020, 1, 29, 23, 59, 59));
  });

  it.each([
    ["26", 2026],
    ["76", 2076],
    ["77", 1977],
    ["94", 1994],
  ])("reads the two-digit year %s in 2026 as %d: at most 50 years ahead", (short, year) => {
    expect(parseHttpDate(`Monday, 06-Jul-${short} 08:49:37 GMT`, NOW_MS)).toBe(Date.UTC(year, 6, 6, 8, 49, 37));
  });

  it.each([
    ["46", 2146],
    ["47", 2047],
    ["05", 2105],
  ])("reads the two-digit year %s in 2096 as %d", (short, year) => {
    const wallMs = Date.UTC(2096, 0, 1);
    expect(parseHttpDate(`Monday, 06-Jul-${short} 08:49:37 GMT`, wallMs)).toBe(Date.UTC(year, 6, 6, 8, 49, 37));
  });
});

describe("parseDelayMs", () => {
  it.each([
    ["250", 250],
    [" 250 ", 250],
    ["0", 0],
    ["-1", null],
    ["2.5", null],
    ["", null],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
    ["12x", null],
    ["x12", null],
  ])("reads %j as %j", (value, expected) => {
    expect(parseDelayMs(value)).toBe(expected);
  });
});
