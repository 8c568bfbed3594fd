import { describe, expect, test } from "vitest";
import { appendOutcomes, bounceOutcomes, brakeReason, brakeSees } from "./brake.pure";

const rule = { ratio: 0.25, window: 16, minSample: 12, latencyMsMax: null };
const slow = { ...rule, latencyMsMax: 800 };

describe("a brake", () => {
  test("looks at the last outcomes only", () => {
    expect(appendOutcomes("ffffdddd", "dd", 8)).toBe("ffdddddd");
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
    expect(brakeSees(recent, [], rule) !== null).toBe(pauses);
  });

  test("holds at every whole percent exactly", () => {
    for (let percent = 1; percent < 100; percent++) {
      for (const outcomes of [25, 50, 90, 100]) {
        const limit = Math.floor((percent * outcomes) / 100);
        const at = (bad: number) =>
          brakeSees("f".repeat(bad).padEnd(outcomes, "d"), [], { ...rule, ratio: percent / 100 }) !== null;
        expect([at(limit), limit === outcomes || at(limit + 1)], `${percent}% of ${outcomes}`).toEqual([false, true]);
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
    const seen = brakeSees("ffbbbddddddddddd", [], rule)!;
    expect(seen).toEqual({ cause: "failures", outcomes: 16, failed: 2, bounced: 3, p95Ms: null });
    expect(brakeReason(seen, rule)).toBe("brake: 2 failed and 3 bounced of the last 16 (31%, limit 25%)");
  });

  test.each<[string, number[], boolean]>([
    ["no latency is known", [], false],
    ["the sample is too small", Array(11).fill(5_000), false],
    ["the p95 is at the bound", Array(16).fill(800), false],
    ["the p95 is above it", Array(16).fill(801), true],
    ["one of twenty is slow, which the p95 leaves out", [...Array(19).fill(90), 9_000], false],
    ["two of twenty are slow", [...Array(18).fill(90), 9_000, 9_000], true],
  ])("with a bound on the latency, when %s: pauses %s", (_, latencies, pauses) => {
    expect(brakeSees("d".repeat(16), latencies, slow) !== null).toBe(pauses);
    expect(brakeSees("d".repeat(16), latencies, rule)).toBeNull();
  });

  test("says that the sends were too slow", () => {
    const seen = brakeSees("d".repeat(16), Array(16).fill(1_250), slow)!;
    expect(seen.cause).toBe("latency");
    expect(brakeReason(seen, slow)).toBe("brake: the slowest 5% of the last sends took 1250 ms or more (limit 800 ms)");
  });
});
