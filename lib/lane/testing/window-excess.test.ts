import { describe, expect, test } from "vitest";
import { type Issue, worstWindowExcess } from "./window-excess";

const at = (ms: number, tokens = 1): Issue => ({ fromMs: ms, toMs: ms, tokens });

describe("worst window excess", () => {
  test("a burst followed by the rate is exactly within the bound", () => {
    expect(worstWindowExcess([at(0, 5), at(100), at(200), at(300)], 10, 5)).toBeCloseTo(0);
  });

  test("finds the one window in the middle that is too full", () => {
    expect(worstWindowExcess([at(0), at(1_000, 3), at(1_050, 3), at(5_000)], 10, 5)).toBeCloseTo(0.5);
  });

  test("gives an issue of uncertain time the benefit of the doubt", () => {
    const uncertain: Issue = { fromMs: 0, toMs: 1_000, tokens: 4 };
    expect(worstWindowExcess([uncertain, at(1_000, 4)], 4, 4)).toBeCloseTo(0);
    expect(worstWindowExcess([at(900, 4), at(1_000, 4)], 4, 4)).toBeCloseTo(3.6);
  });

  test("nothing issued exceeds nothing", () => {
    expect(worstWindowExcess([], 1, 1)).toBe(Number.NEGATIVE_INFINITY);
  });
});
