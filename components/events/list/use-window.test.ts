import { describe, expect, it } from "vitest";
import { rowWindow, scrollTopFor } from "./use-window";

describe("rowWindow", () => {
  it("makes what is in view and a margin, whatever the length of the list", () => {
    expect(rowWindow(0, 320, 32, 10_000)).toEqual({ first: 0, start: 0, end: 23 });
    expect(rowWindow(3_200, 320, 32, 10_000)).toEqual({ first: 100, start: 88, end: 123 });
    expect(rowWindow(319_680, 320, 32, 10_000)).toEqual({ first: 9_990, start: 9_978, end: 10_000 });
  });

  it("stays inside a list that became shorter than the scroll position, and inside an empty one", () => {
    expect(rowWindow(9_999, 320, 32, 5)).toEqual({ first: 4, start: 0, end: 5 });
    expect(rowWindow(0, 320, 32, 0)).toEqual({ first: 0, start: 0, end: 0 });
  });
});

describe("scrollTopFor", () => {
  const view = { scrollTop: 320, viewPx: 352, headPx: 32, rowPx: 32 };

  it("does not scroll to a row that is in view", () => {
    expect(scrollTopFor(10, view)).toBeNull();
    expect(scrollTopFor(19, view)).toBeNull();
  });

  it("scrolls just far enough, and not under the head", () => {
    expect(scrollTopFor(9, view)).toBe(288);
    expect(scrollTopFor(20, view)).toBe(352);
  });
});
