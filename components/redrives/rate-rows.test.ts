import { expect, it } from "vitest";
import { rateRows } from "@/components/redrives/rate-rows";

it("draws outcomes per second, whatever the bucket", () => {
  const at = "2026-11-20T14:02:10.000Z";
  expect(rateRows({ bucketMs: 5_000, buckets: [{ at, delivered: 25, failed: 5, refused: 1 }] })).toEqual([
    { atMs: Date.parse(at), values: { delivered: 5, failed: 1, refused: 0.2 } },
  ]);
});
