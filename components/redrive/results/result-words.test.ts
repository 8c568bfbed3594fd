import { expect, test } from "vitest";
import { isUndone, resultOf } from "./result-words";

const redrive = (change: Partial<Parameters<typeof resultOf>[0]>) => ({
  ...{ state: "RUNNING" as const, mode: "deliver" as const, total: 1_250, delivered: 0, passed: 0, failed: 0 },
  ...{ refused: 0, cancelled: 0, open: 0, stalled: null, brakeSeen: null, ...change },
});

test.each([
  [{ open: 1_000 }, "running", "250 of 1,250 events"],
  [{ open: 1_000, refused: 240 }, "running", "10 of 1,010 events"],
  [{ state: "DONE" as const, open: 0, delivered: 1_250 }, "ended", "Ended: 1,250 delivered"],
  [
    { state: "DONE" as const, delivered: 40, failed: 3, refused: 2 },
    "failed",
    "Ended: 40 delivered, 3 failed, 2 left out",
  ],
  [{ state: "CANCELLED" as const, delivered: 4, cancelled: 6 }, "ended", "Cancelled: 4 delivered, 6 cancelled"],
  [
    { state: "DONE" as const, mode: "verify" as const, passed: 7, refused: 1 },
    "ended",
    "Ended: 7 would be sent, 1 would be refused",
  ],
  [{ state: "DONE" as const, total: 0 }, "ended", "Ended: no events"],
])("%j reads as %s: %s", (change, tone, words) => {
  expect(resultOf(redrive(change))).toEqual({ tone, words });
});

test("one that stands still says why", () => {
  const stalled = {
    code: "no-worker" as const,
    text: "No worker is alive.",
    until: null,
    target: null,
    redriveId: null,
  };
  expect(resultOf(redrive({ stalled }))).toEqual({ tone: "still", words: "No worker is alive." });
});

test("one that a person paused does not stand still, and one that the brake paused does", () => {
  const stalled = { code: "paused" as const, text: "Paused.", until: null, target: null, redriveId: null };
  expect(resultOf(redrive({ stalled })).tone).toBe("running");
  const brakeSeen = {} as NonNullable<Parameters<typeof resultOf>[0]["brakeSeen"]>;
  expect(resultOf(redrive({ stalled, brakeSeen })).tone).toBe("still");
});

test("one that was cancelled has ended when its items were given back", () => {
  const cancelled = redrive({ state: "CANCELLED", cancelled: 5_000, open: 195_000 });
  expect(resultOf(cancelled)).toEqual({ tone: "running", words: "Cancelling: 195,000 events left" });
});

test("one that was taken back in time needs no end", () => {
  expect(isUndone(redrive({ state: "CANCELLED", cancelled: 3, refused: 9 }))).toBe(true);
  expect(isUndone(redrive({ state: "CANCELLED", delivered: 1 }))).toBe(false);
});
