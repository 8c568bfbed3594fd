import { describe, expect, test } from "vitest";
import { appendOutcomes, brakes, failureRatio, releasedItems } from "./canary";

const rule = { steps: [2, 20, 200], stopAtFailureRatio: 0.25, window: 8 };

describe("a canary", () => {
  test.each([
    [0, 2],
    [1, 2],
    [2, 20],
    [19, 20],
    [20, 200],
    [199, 200],
    [200, null],
  ])("after %i sends it releases %s", (sent, released) => {
    expect(releasedItems(sent, rule)).toBe(released);
  });

  test("looks at the last outcomes only", () => {
    expect(appendOutcomes("ffffdddd", "dd", 8)).toBe("ffdddddd");
    expect(failureRatio("")).toBeNull();
    expect(failureRatio("dfbd")).toBe(0.5);
  });

  test.each([
    ["", false],
    ["f", true],
    ["dddf", false],
    ["ddff", true],
    ["ddddddbd", false],
    ["dddddfbb", true],
  ])("with %j the brake pulls: %s", (recent, pulls) => {
    expect(brakes(recent, rule)).toBe(pulls);
  });
});
