import { expect, test } from "vitest";
import { cooldownAfter, statusAfterFailure } from "@/lib/order/after-failure.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

test.each<[EventStatus, "fail" | "bounce", number, EventStatus]>([
  ["REDRIVEN", "bounce", 3, "PENDING"],
  ["REDRIVEN", "bounce", 4, "IGNORED"],
  ["QUEUED", "fail", 3, "PENDING"],
  ["QUEUED", "fail", 4, "IGNORED"],
  ["QUEUED", "bounce", 4, "QUEUED"],
  ["PENDING", "bounce", 4, "PENDING"],
  ["IGNORED", "bounce", 3, "IGNORED"],
])("%s, %s after %i of 4 redrives: %s", (from, move, redrives, to) => {
  expect(statusAfterFailure(from, move, { redrives, redriveLimit: 4 })).toBe(to);
});

test.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [4, 6_000],
  [5_000, 6_000],
])("failure %i cools for %i ms", (failures, ms) => {
  expect(cooldownAfter(failures, { cooldownMs: 1_000, cooldownMsMax: 6_000 })).toBe(ms);
});
