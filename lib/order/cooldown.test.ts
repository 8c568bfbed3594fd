import { expect, test } from "vitest";
import { cooldownAfter } from "./cooldown.pure";

test.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [4, 6_000],
  [5_000, 6_000],
])("failure %i cools for %i ms", (failures, ms) => {
  expect(cooldownAfter(failures, { cooldownMs: 1_000, cooldownMsMax: 6_000 })).toBe(ms);
});
