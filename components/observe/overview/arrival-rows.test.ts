import { describe, expect, it } from "vitest";
import { arrivalRows } from "@/components/observe/overview/arrival-rows";
import type { ArrivedCode, TopErrors } from "@/lib/observe/stats/stats.shapes";

const code = (change: Partial<ArrivedCode>): ArrivedCode => ({
  errorCode: "TIMEOUT",
  count: 103,
  parked: 90,
  bounced: 13,
  unstored: 0,
  usual: 8.2,
  spread: 3,
  factor: 12.56,
  trend: "rising" as const,
  ...change,
});
const stats = (change: Partial<ArrivedCode>) =>
  ({
    counts: "arrived",
    kind: "exact",
    asOf: "2026-11-20T12:00:00Z",
    total: 103,
    usualFrom: null,
    buckets: [code(change)],
    groups: [
      {
        fingerprint: "g1",
        errorCode: "TIMEOUT",
        pattern: "no answer of <n>",
        count: 7,
        usual: 7,
        spread: 2.6,
        factor: 1,
        trend: "usual" as const,
        verdict: "steady" as const,
      },
    ],
  }) satisfies TopErrors;

describe("rows of what arrived", () => {
  it.each([
    [{ factor: 12.56, trend: "rising" as const }, "13 × usual", true],
    [{ factor: 3.42, trend: "rising" as const }, "3.4 × usual", true],
    [{ factor: 1.2, trend: "usual" as const }, "as usual", false],
    [{ factor: 4, trend: "usual" as const }, "as usual", false],
    [{ factor: 0.2, trend: "falling" as const }, "less than usual", false],
    [{ usual: 0, factor: null, trend: "rising" as const }, "usually none", true],
    [{ usual: 0, factor: null, trend: "usual" as const }, "as usual", false],
    [{ usual: null, factor: null, trend: "unknown" as const }, "", false],
    [{ count: 0, usual: 0, factor: null }, "none", false],
  ])("%j reads %s", (change, against, unusual) => {
    expect(arrivalRows(stats(change), "code", {})[0]).toMatchObject({ against, unusual });
  });

  it("lead to the events of a code and to the page of a group, in the window of the page", () => {
    const filter = { source: ["orders"], from: "-1h" };
    expect([arrivalRows(stats({}), "code", filter)[0]?.href, arrivalRows(stats({}), "group", filter)[0]?.href]).toEqual(
      ["/events?source=orders&errorCode=TIMEOUT&from=-1h", "/groups/g1?source=orders&from=-1h"],
    );
  });
});
