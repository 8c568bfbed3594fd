import { expect, it, vi } from "vitest";
import { freshness, freshnessOf, noteAnswer, onFreshness } from "./freshness.browser";

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

it.each([
  ["the computer's clock was set back by an hour", -3_600_000, 20_000],
  ["the computer slept", 20_000, 0],
])("data without an answer for 20 s is old, also when %s", (_, clockMs, passedMs) => {
  vi.useFakeTimers();
  const listener = vi.fn();
  const wall = vi.spyOn(Date, "now").mockReturnValue(1_800_000_000_000);
  const passed = vi.spyOn(performance, "now").mockReturnValue(5_000);
  noteAnswer();
  const stop = onFreshness(listener);
  wall.mockReturnValue(1_800_000_000_000 + clockMs);
  passed.mockReturnValue(5_000 + passedMs);
  vi.advanceTimersByTime(1_000);
  expect(freshness()).toBe("old");
  noteAnswer();
  expect(freshness()).toBe("fresh");
  stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});
