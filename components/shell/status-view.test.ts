import { describe, expect, it } from "vitest";
import { gaugeLevel, workerHealth } from "./status-view";

describe("the gauge of a lane", () => {
  it.each([
    [0, 5, 0],
    [null, 5, 0],
    [0.1, 50, 1],
    [21, 50, 2],
    [4.9, 5, 4],
    [5, 5, 5],
    [60, 50, 5],
    [12, null, 1],
  ])("%s of %s lights %i bars", (now, set, level) => {
    expect(gaugeLevel({ ratePerSecondNow: now, ratePerSecondSet: set })).toBe(level);
  });
});

it("tells a dead worker from an unknown one", () => {
  expect(workerHealth(null)).toMatchObject({ ok: false, unknown: true });
  expect(workerHealth({ alive: 0, lastSeenAt: null })).toMatchObject({ ok: false, unknown: false });
  expect(workerHealth({ alive: 2, lastSeenAt: null })).toMatchObject({ ok: true, detail: "2 workers run" });
});
