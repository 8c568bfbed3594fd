import { describe, expect, test } from "vitest";
import { bucketStarts, statsQueryFrom } from "@/lib/observe/stats/stats-query.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const NOW = Date.parse("2026-11-20T12:34:56Z");
const HOUR = 3_600_000;
const read = (query: string) => statsQueryFrom(new URLSearchParams(query), NOW, ["source", "errorCode"]);

describe("the query of a chart", () => {
  test("is the last day by default, cut into at most 120 buckets", () => {
    const query = read("");
    expect(query).toMatchObject({ fromMs: NOW - 24 * HOUR, toMs: NOW });
    expect(bucketStarts(query).length).toBeLessThanOrEqual(121);
  });

  test.each(["-15m", "-1h", "-6h", "-7d", "-30d", "-300d"])("cuts %s into something one can look at", (from) => {
    const starts = bucketStarts(read(`from=${from}`));
    expect(starts.length).toBeGreaterThan(10);
    expect(starts.length).toBeLessThanOrEqual(125);
  });

  test("cuts at multiples of the width, from before the window to its end", () => {
    const query = read("from=2026-11-20T10:05:00Z&to=2026-11-20T12:05:00Z&bucket=1h");
    expect(bucketStarts(query).map((ms) => new Date(ms).toISOString())).toEqual([
      "2026-11-20T10:00:00.000Z",
      "2026-11-20T11:00:00.000Z",
      "2026-11-20T12:00:00.000Z",
    ]);
  });

  test.each([
    ["aggregateId=x", "aggregateId"],
    ["tag.a=b", "tags"],
    ["bucket=0m", "bucket"],
    ["bucket=5", "bucket"],
    ["from=-30d&bucket=1m", "bucket"],
    ["from=-500d", "from"],
    ["from=now%2B1h", "from"],
    ["from=-1h&to=-2h", "from"],
  ])("refuses %s", (query, field) => {
    try {
      read(query);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(DomainError);
      expect((error as DomainError).fields[0]?.field).toBe(field);
    }
  });
});
