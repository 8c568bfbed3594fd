import { expect, it } from "vitest";
import { underWayWords } from "./under-way-words";

it("says what a stop could not take back, and when that is not known", () => {
  expect(underWayWords(0)).toBeUndefined();
  expect(underWayWords(1)).toBe("1 send was already under way.");
  expect(underWayWords(1_200)).toBe("1,200 sends were already under way.");
  expect(underWayWords(null)).toMatch(/could not be read/);
});
