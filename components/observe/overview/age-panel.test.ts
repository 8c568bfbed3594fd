import { expect, it } from "vitest";
import { ageRows } from "@/components/observe/overview/age-panel";

const at = "2026-11-20T14:00:00.000Z";

it("leaves a gap where nothing was parked and never draws below a second", () => {
  const rows = ageRows({
    buckets: [
      { at, p50Ms: 0, p95Ms: 5_000, oldestMs: 60_000 },
      { at, p50Ms: null, p95Ms: null, oldestMs: null },
    ],
  });
  expect(rows.map((row) => row.values)).toEqual([
    { p50: 1_000, p95: 5_000, oldest: 60_000 },
    { p50: null, p95: null, oldest: null },
  ]);
});
