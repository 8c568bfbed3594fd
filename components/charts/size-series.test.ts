import { describe, expect, it } from "vitest";
import { changeOver, sizeSeries } from "@/components/charts/size-series";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString();
const bucket = (minute: number, byErrorCode: Record<string, number>) => ({
  at: at(minute),
  byErrorCode,
  total: Object.values(byErrorCode).reduce((sum, count) => sum + count, 0),
});

describe("dlq_size as areas", () => {
  it("gives the largest codes an area each and folds the rest", () => {
    const { series, rows } = sizeSeries(
      {
        bucketMs: 60_000,
        asOf: at(99),
        buckets: [bucket(0, { A: 5, B: 50, C: 7, D: 1, E: 2 }), bucket(1, { A: 6, B: 40, C: 9, D: 3 })],
      },
      4,
    );
    expect(series).toEqual([
      { key: "B", codes: ["B"], last: 40 },
      { key: "C", codes: ["C"], last: 9 },
      { key: "A", codes: ["A"], last: 6 },
      { key: "other", codes: ["D", "E"], last: 3 },
    ]);
    expect(rows[0]?.values).toEqual({ B: 50, C: 7, A: 5, other: 3 });
  });

  it("keeps the sum of each row whatever is folded, and fills gaps with zero", () => {
    const buckets = [bucket(0, { A: 1 }), bucket(1, { B: 2, C: 3, D: 4 }), bucket(2, {})];
    const { rows, series } = sizeSeries({ bucketMs: 1, asOf: at(99), buckets }, 2);
    for (const [index, row] of rows.entries()) {
      expect(Object.values(row.values).reduce((sum, count) => sum + count, 0)).toBe(buckets[index]?.total);
      expect(Object.keys(row.values)).toEqual(series.map((entry) => entry.key));
    }
  });
});

describe("the moment of a size", () => {
  it("is the end of its bucket, and now for the running one", () => {
    const { rows } = sizeSeries({
      bucketMs: 900_000,
      asOf: at(37),
      buckets: [bucket(15, { A: 1 }), bucket(30, { A: 2 })],
    });
    expect(rows.map((row) => new Date(row.atMs).toISOString())).toEqual([at(30), at(37)]);
  });
});

describe("change over an hour", () => {
  const stats = {
    asOf: at(90),
    now: 420,
    bucketMs: 300_000,
    buckets: [bucket(0, { A: 80 }), bucket(25, { A: 100 }), bucket(30, { A: 300 }), bucket(85, { A: 410 })],
  };
  it("compares with the newest size that is an hour old", () => {
    expect(changeOver(stats, 3_600_000)).toBe(320);
  });
  it("is unknown, not zero, when the window is too short", () => {
    expect(changeOver(stats, 3_600_000 * 2)).toBeNull();
  });
});
