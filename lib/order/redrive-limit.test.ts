import { expect, test } from "vitest";
import type { EventStatus } from "@/lib/events/event-state.pure";
import { statusAfterFailure } from "./redrive-limit.pure";

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
