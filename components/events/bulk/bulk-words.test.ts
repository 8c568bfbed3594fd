import { expect, it } from "vitest";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { changedText, laterWords, leftAlone, mustType, operationTitle, paceWords, shareWords } from "./bulk-words";

it("has a large or unknown number typed, and a small one not", () => {
  expect(mustType(1_000)).toBeNull();
  expect(mustType(1_001)).toBe("1001");
  expect(mustType(null)).toBe("all");
});

it("says what was changed and what was left alone and why", () => {
  expect(changedText("ignore", { changed: 37, refused: { "not-pending": 2, "not-found": 0 } })).toEqual({
    title: "Ignored 37 events",
    detail: "Not changed: 2 not PENDING",
  });
  expect(changedText("ignore", { changed: 1, refused: { "in-flight": 3, "not-pending": 1 } }).detail).toBe(
    "Not changed: 3 sends already under way · 1 not PENDING",
  );
  expect(changedText("release", { changed: 0, refused: { "not-ignored": 1 } })).toEqual({
    title: "Nothing was released",
    detail: "Not changed: 1 not IGNORED",
  });
  expect(changedText("release", { changed: 1, refused: {} })).toEqual({ title: "Released 1 event", detail: undefined });
  expect(changedText("undo-mend", { changed: 0, refused: { "stale-revision": 238 } })).toEqual({
    title: "The mend of no event was undone",
    detail: "Not changed: 238 revised meanwhile",
  });
  expect(leftAlone({ "not-json": 2, unchanged: 1 })).toBe(
    "its payload is not JSON in UTF-8 (2) · 1 not changed by the recipe",
  );
  expect(changedText("remove", { changed: 120, refused: { "not-settled": 2, "in-redrive": 1 } })).toEqual({
    title: "Removed 120 events into the archive",
    detail: "Not changed: 2 still PENDING · 1 QUEUED in a redrive",
  });
  expect(leftAlone({ "already-confirmed": 4, ignored: 1 })).toBe("4 already CONFIRMED · 1 ignored: release it first");
});

it("names what arrived after the count", () => {
  expect(laterWords(0)).toBeNull();
  expect(laterWords(1)).toBe("1 event arrived after the count: it is left as it is.");
  expect(laterWords(3)).toBe("3 events arrived after the count: they are left as they are.");
});

const running = {
  kind: "ignore" as const,
  state: "RUNNING" as const,
  changed: 7_000,
  refused: 500,
  expected: { value: 12_000, kind: "exact" as const },
  ratePerSecond: 1_239.7,
  etaMs: 8_200,
  approval: null,
};

it("says how far an operation is, and how fast", () => {
  expect(operationTitle(running)).toBe("Ignoring 12,000 events");
  expect(shareWords(running)).toBe("62.5 %");
  const asked = { state: "asked" } as NonNullable<BulkOperationOut["approval"]>;
  expect(operationTitle({ ...running, kind: "mend", approval: asked })).toBe("Mend 12,000 events: waits for approval");
  expect(paceWords(running)).toBe("1,240/s · about 8 s left");
  expect(paceWords({ ...running, ratePerSecond: null, etaMs: null })).toBe("starting");
});

it("does not exceed the whole when the estimate was too low, and says that it is one", () => {
  const estimated = { ...running, changed: 15_000, expected: { value: 12_345, kind: "estimated" as const } };
  expect(shareWords(estimated)).toBe("100 %");
  expect(operationTitle(estimated)).toBe("Ignoring ≈ 12,000 events");
});
