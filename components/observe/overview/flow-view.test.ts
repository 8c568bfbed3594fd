import { describe, expect, it } from "vitest";
import { flowRows, flowTile } from "@/components/observe/overview/flow-view";

const bucket = (minute: number, over: object = {}) => ({
  at: new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString(),
  parked: 0,
  redriven: 0,
  confirmed: 0,
  failed: 0,
  bounced: 0,
  ignored: 0,
  expired: 0,
  released: 0,
  unstored: 0,
  duplicate: 0,
  dropped: 0,
  rejected: 0,
  ...over,
});

describe("inflow and outflow", () => {
  it("counts each way into and out of the parked set once", () => {
    const full = bucket(0, {
      parked: 100,
      bounced: 20,
      released: 3,
      redriven: 50,
      ignored: 7,
      expired: 2,
      confirmed: 999,
      failed: 888,
      unstored: 777,
      duplicate: 666,
    });
    expect(flowRows({ buckets: [full] })).toEqual([
      { atMs: Date.UTC(2026, 10, 20, 12), in: 123, out: 59, unstored: 777, duplicate: 666 },
    ]);
  });

  it("is a rate per minute over the last five, whatever part of the running minute has passed", () => {
    const minutes = [1, 2, 3, 4, 5, 6].map((at) => bucket(at, { parked: 30, redriven: 3 }));
    const buckets = [bucket(0, { parked: 9_999 }), ...minutes];
    const asOf = (second: number) => new Date(Date.UTC(2026, 10, 20, 12, 6, second)).toISOString();
    // 6 x 30 events in 5 min 30 s.
    expect(flowTile({ buckets, bucketMs: 60_000, asOf: asOf(30) }).inPerMinute).toBeCloseTo(180 / 5.5);
    expect(flowTile({ buckets, bucketMs: 60_000, asOf: asOf(30) }).outPerMinute).toBeCloseTo(18 / 5.5);
    expect(flowTile({ buckets: [], bucketMs: 60_000, asOf: asOf(0) })).toEqual({
      inPerMinute: 0,
      outPerMinute: 0,
      spark: [],
    });
  });
});
