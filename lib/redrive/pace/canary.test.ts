import { describe, expect, test } from "vitest";
import { type CanaryStand, canaryMove, stepAfter } from "./canary.pure";

const rule = { steps: [2, 20, 200] };
const stand: CanaryStand = { released: 20, delivered: 20, bounced: 0, confirmed: 0, quiet: "over" };

describe("a canary", () => {
  test.each([
    [0, 2],
    [2, 20],
    [19, 20],
    [20, 200],
    [200, null],
  ])("goes from %i to %s", (released, next) => {
    expect(stepAfter(released, rule)).toBe(next);
  });

  test.each<[string, Partial<CanaryStand>, number | null, boolean]>([
    ["sends on until the step is complete", { delivered: 19 }, 20, false],
    ["sends another in place of what came back", { delivered: 20, bounced: 1 }, 20, false],
    ["is not moved by failures", { delivered: 2, confirmed: 2 }, 20, false],
    ["waits when the step is complete", { quiet: "not-begun" }, 20, true],
    ["waits while the window runs", { quiet: "running", confirmed: 19 }, 20, true],
    ["goes on when the window ended quietly", {}, 200, false],
    ["goes on at the word of the consumer", { quiet: "running", confirmed: 20 }, 200, false],
    ["does not take a confirmation for what bounced later", { quiet: "running", confirmed: 20, bounced: 1 }, 20, false],
    ["releases everything after its last step", { released: 200, delivered: 203, bounced: 3 }, null, false],
    ["that is over stays over", { released: null, delivered: 0, quiet: "not-begun" }, null, false],
  ])("%s", (_, change, released, waits) => {
    expect(canaryMove({ ...stand, ...change }, rule)).toEqual({ released, waits });
  });
});
