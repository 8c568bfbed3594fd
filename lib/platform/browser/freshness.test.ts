import { expect, it } from "vitest";
import { freshnessOf } from "./freshness.browser";

it.each([
  [0, false, "fresh"],
  [15_000, false, "fresh"],
  [15_001, false, "old"],
  [60_000, false, "old"],
  [60_001, false, "stale"],
  // Nothing to wait for: it is said at once. How long it has been so decides whether it is stale.
  [200, true, "old"],
  [60_001, true, "stale"],
] as const)("an answer %i ms ago (unreachable: %s) is %s", (ageMs, unreachable, level) => {
  expect(freshnessOf(ageMs, unreachable)).toBe(level);
});
