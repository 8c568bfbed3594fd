import { describe, expect, test } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { bucketStarts, statsQueryFrom } from "@/lib/selection/stats-query.shapes";

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
    ["from=-7d", "2026-11-13T12:34:56.000Z", "2026-11-20T12:34:56.000Z", 3 * 60],
    ["from=-8d", "2026-11-12T12:00:00.000Z", "2026-11-20T12:34:56.000Z", 3 * 60],
    ["from=2026-11-02T10:05:00Z&to=2026-11-02T10:35:00Z", "2026-11-02T10:00:00.000Z", "2026-11-02T11:00:00.000Z", 60],
    ["from=-8d&bucket=90m", "2026-11-12T12:00:00.000Z", "2026-11-20T12:34:56.000Z", 2 * 60],
    ["from=-7d&bucket=90m", "2026-11-13T12:34:56.000Z", "2026-11-20T12:34:56.000Z", 90],
  ])("of what is older than a week is of whole hours: %s", (query, from, to, minutes) => {
    const { fromMs, toMs, bucketMs } = read(query);
    const found = [new Date(fromMs).toISOString(), new Date(toMs).toISOString(), bucketMs / 60_000];
    expect(found).toEqual([from, to, minutes]);
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
