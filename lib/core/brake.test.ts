import { describe, expect, test } from "vitest";
import { appendOutcomes, bounceOutcomes, brakeReason, brakes, sampleOf } from "./brake";

const rule = { ratio: 0.25, window: 16, minSample: 12 };

describe("a brake", () => {
  test("looks at the last outcomes only", () => {
    expect(appendOutcomes("ffffdddd", "dd", 8)).toBe("ffdddddd");
    expect(sampleOf("dfbdb")).toEqual({ outcomes: 5, failed: 1, bounced: 2 });
  });

  test.each([
    ["", false],
    ["f", false],
    ["f".repeat(11), false],
    ["f".repeat(12), true],
    ["fff".padEnd(12, "d"), false],
    ["ffb".padEnd(12, "d"), false],
    ["ffbb".padEnd(12, "d"), true],
    ["bbbb".padEnd(16, "d"), false],
    ["bbbbb".padEnd(16, "d"), true],
  ])("with %j it pauses: %s", (recent, pauses) => {
    expect(brakes(recent, rule)).toBe(pauses);
  });

  test("holds at every whole percent exactly", () => {
    for (let percent = 1; percent < 100; percent++) {
      for (const outcomes of [25, 50, 90, 100]) {
        const limit = Math.floor((percent * outcomes) / 100);
        const at = (bad: number) => brakes("f".repeat(bad).padEnd(outcomes, "d"), { ...rule, ratio: percent / 100 });
        expect([at(limit), limit === outcomes || at(limit + 1)], `${percent} % of ${outcomes}`).toEqual([false, true]);
      }
    }
  });

  test("counts an event that was delivered and came back once, as a bounce", () => {
    expect(bounceOutcomes("dddd", 2, 16)).toBe("ddbb");
    expect(bounceOutcomes("ddfb", 1, 16)).toBe("dbfb");
    expect(bounceOutcomes("dddd", 4, 16)).toBe("bbbb");
    expect(bounceOutcomes("d".repeat(5), 7, 6)).toBe("bbbbbb");
    expect(bounceOutcomes("", 3, 16)).toBe("bbb");
    expect(bounceOutcomes("", 50_000, 16)).toHaveLength(16);
  });

  test("says what it saw", () => {
    expect(brakeReason("ffbbbddddddddddd", rule)).toBe(
      "brake: 2 failed and 3 bounced of the last 16 (31 %, limit 25 %)",
    );
  });
});
