import { expect, it } from "vitest";
import { pauseMarkers, rateRows } from "@/components/redrive/page/rate-rows";

it("draws outcomes per second, whatever the bucket", () => {
  const at = "2026-11-20T14:02:10.000Z";
  expect(rateRows({ bucketMs: 5_000, asOf: at, buckets: [{ at, delivered: 25, failed: 5, refused: 1 }] })).toEqual([
    { atMs: Date.parse(at), values: { delivered: 5, failed: 1, refused: 0.2 } },
  ]);
});

it("drops to zero while nothing is sent instead of drawing through it", () => {
  const bucket = (second: number) => ({
    at: new Date(Date.UTC(2026, 10, 20, 14, 0, second)).toISOString(),
    delivered: 5,
    failed: 0,
    refused: 0,
  });
  const asOf = new Date(Date.UTC(2026, 10, 20, 14, 1)).toISOString();
  const rows = rateRows({ bucketMs: 5_000, asOf, buckets: [bucket(0), bucket(5), bucket(20)] });
  expect(rows.map((row) => row.values.delivered)).toEqual([1, 1, 0, 0, 1]);
  expect(rows.map((row) => new Date(row.atMs).getUTCSeconds())).toEqual([0, 5, 10, 15, 20]);

  // The last bucket still runs: it is left out until it is full.
  const running = rateRows({ bucketMs: 5_000, asOf: bucket(22).at, buckets: [bucket(0), bucket(5), bucket(20)] });
  expect(running.map((row) => new Date(row.atMs).getUTCSeconds())).toEqual([0, 5, 10, 15]);
});

it("marks who paused and resumed it, the brake, too, and no other entry of its audit", () => {
  const entry = (action: string, actor: string, reason: string | null) => ({
    ...{ id: action, at: "2026-11-20T14:00:00.000Z" },
    ...{ action, actor, reason },
  });
  const marks = pauseMarkers([
    entry("redrive.resumed", "ada", null),
    entry("redrive.rate-changed", "ada", null),
    entry("redrive.braked", "worker", "12 of the last 50 failed"),
    entry("redrive.paused", "bob", "looking"),
  ]);
  expect(marks.map(({ kind, label }) => [kind, label])).toEqual([
    ["resumed", "ada"],
    ["paused", "12 of the last 50 failed (worker)"],
    ["paused", "looking (bob)"],
  ]);
});
