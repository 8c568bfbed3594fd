import { expect, it } from "vitest";
import { changedText, mustType } from "./ignore-words";

it("has a large or unknown number typed, and a small one not", () => {
  expect(mustType(1_000)).toBeNull();
  expect(mustType(1_001)).toBe("1001");
  expect(mustType(null)).toBe("all");
});

it("says what was changed and what was left alone and why", () => {
  expect(changedText("ignore", { changed: 37, refused: { "not-pending": 2, "not-found": 0 } })).toEqual({
    title: "Ignored 37 events",
    detail: "Left alone: 2 not PENDING",
  });
  expect(changedText("ignore", { changed: 1, refused: { "in-flight": 3, "not-pending": 1 } }).detail).toBe(
    "Left alone: 3 sends already under way · 1 not PENDING",
  );
  expect(changedText("release", { changed: 0, refused: { "not-ignored": 1 } })).toEqual({
    title: "Nothing was released",
    detail: "Left alone: 1 not IGNORED",
  });
  expect(changedText("release", { changed: 1, refused: {} })).toEqual({ title: "Released 1 event", detail: undefined });
});
