import { describe, expect, it } from "vitest";
import { composedDeadlineMs, type Step } from "@/lib/retry/deadline/compose";

describe("the deadline of composed steps", () => {
  it.each<[string, Step, number]>([
    ["one step", 250, 250],
    ["serial steps add up", { serial: [100, 200, 300] }, 600],
    ["of parallel steps the longest counts", { parallel: [100, 300, 200] }, 300],
    ["a fan-out between two steps", { serial: [50, { parallel: [200, { serial: [150, 100] }] }, 30] }, 330],
    ["parallel chains", { parallel: [{ serial: [10, 20] }, { serial: [5, 5, 5] }] }, 30],
    ["no serial step", { serial: [] }, 0],
    ["no parallel step", { parallel: [] }, 0],
    ["a step without a limit", { serial: [1, { parallel: [2, Number.POSITIVE_INFINITY] }] }, Number.POSITIVE_INFINITY],
  ])("%s", (_, step, ms) => {
    expect(composedDeadlineMs(step)).toBe(ms);
  });

  it.each([Number.NaN, -1])("refuses %s, wherever it stands", (ms) => {
    expect(() => composedDeadlineMs({ serial: [1, { parallel: [2, ms] }] })).toThrow(RangeError);
  });
});
