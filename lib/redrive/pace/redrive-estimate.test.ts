import { describe, expect, test } from "vitest";
import type { LanePaces } from "@/lib/sources/targets/target-pace.pure";
import {
  CHART_BUCKETS_MAX,
  chartBucketMs,
  effectiveRate,
  pacesOf,
  redriveTimeMs,
  type Work,
  warmUpShare,
} from "./redrive-estimate.pure";

const target = (ratePerSecond: number | null, warmUpMs = 0) => ({ ratePerSecond, warmUpMs });
const paces: LanePaces = { orders: target(40), billing: target(10), bulk: target(null) };

describe("the rate of a redrive", () => {
  test.each([
    [null, ["orders"], 40],
    [null, ["orders", "billing"], 50],
    [25, ["orders", "billing"], 25],
    [90, ["orders"], 40],
    [null, ["orders", "bulk"], null],
    [7, ["bulk"], 7],
    [7, [], 7],
    [null, [], null],
    [null, ["unknown"], null],
  ])("asked %s over %j moves at %s", (asked, sources, expected) => {
    expect(effectiveRate(asked, pacesOf(sources, paces))).toBe(expected);
  });
});

test.each([
  [0, 5_000],
  [239 * 5_000, 5_000],
  [240 * 5_000, 10_000],
  [3 * 86_400_000, 5_000 * 256],
])("a chart over %i ms has buckets of %i ms", (spanMs, bucketMs) => {
  expect(chartBucketMs(spanMs)).toBe(bucketMs);
  expect(spanMs / bucketMs).toBeLessThan(CHART_BUCKETS_MAX);
});

describe("the time of a redrive", () => {
  const canary = { steps: [1, 10, 100], released: 1, quietMs: 60_000, waitMs: null, total: 400 };
  test.each<[string, Work, number | null]>([
    [
      "the slowest target",
      {
        events: 450,
        asked: null,
        targets: [
          { ...target(40), events: 400 },
          { ...target(10), events: 50 },
        ],
      },
      10_000,
    ],
    [
      "a target that has more than its share",
      {
        events: 90,
        asked: null,
        targets: [
          { ...target(40), events: 40 },
          { ...target(10), events: 50 },
        ],
      },
      5_000,
    ],
    [
      "the redrive's own rate",
      {
        events: 90,
        asked: 9,
        targets: [
          { ...target(40), events: 40 },
          { ...target(10), events: 50 },
        ],
      },
      10_000,
    ],
    ["targets whose shares are not known", { events: 500, asked: null, targets: [target(40), target(10)] }, 10_000],
    ["nothing", { events: 1_000_000, asked: null, targets: [target(null)] }, null],
    ["no event", { events: 0, asked: null, targets: [target(40)] }, 0],
    ["a hold", { events: 40, asked: null, targets: [target(40)], holdMs: 3_000 }, 4_000],
    ["each step of a canary", { events: 400, asked: null, targets: [target(40)], canary }, 190_000],
    [
      "no step that is as large as the redrive",
      { events: 100, asked: null, targets: [target(40)], canary: { ...canary, total: 100 } },
      122_500,
    ],
    [
      "the rest of a canary",
      { events: 300, asked: null, targets: [target(40)], canary: { ...canary, released: 100, waitMs: 20_000 } },
      27_500,
    ],
    ["a warm-up: a third of it is lost", { events: 4_000, asked: null, targets: [target(40, 30_000)] }, 110_000],
    ["a warm-up that outlasts it", { events: 200, asked: null, targets: [target(40, 30_000)] }, 10_981],
    ["the rest of a warm-up", { events: 4_000, asked: null, targets: [target(40, 30_000)], ranMs: 15_000 }, 102_500],
    ["no warm-up that is over", { events: 4_000, asked: null, targets: [target(40, 30_000)], ranMs: 30_000 }, 100_000],
  ])("counts %s", (_, work, expected) => {
    expect(redriveTimeMs(work)).toBe(expected);
  });
});

test("a warm-up rises in steps from a third to the whole, and its mean is what the time counts", () => {
  expect(warmUpShare(0, 10_000)).toBeCloseTo(1 / 3, 9);
  expect(warmUpShare(499, 10_000)).toBe(warmUpShare(0, 10_000));
  expect(warmUpShare(5_000, 10_000)).toBeCloseTo(2 / 3, 9);
  expect([warmUpShare(10_000, 10_000), warmUpShare(7, 0)]).toEqual([1, 1]);
});
