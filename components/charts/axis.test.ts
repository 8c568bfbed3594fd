import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { durationTicks, timeTicks, valueTicks } from "@/components/charts/axis";

const at = (hour: number, minute = 0, day = 20) => Date.UTC(2026, 10, day, hour, minute);
const HOUR = 3_600_000;

describe("axis of time", () => {
  it("ticks at round moments", () => {
    expect(timeTicks(at(13, 7), at(19, 21), 7)).toEqual([14, 15, 16, 17, 18, 19].map((hour) => at(hour)));
    expect(timeTicks(at(13, 7), at(13, 22), 4)).toEqual([at(13, 10), at(13, 15), at(13, 20)]);
  });
  it("begins days at midnight of the zone shown", () => {
    expect(timeTicks(at(9), at(9, 0, 24), 6, 5.5 * HOUR)).toEqual([20, 21, 22, 23].map((day) => at(18, 30, day)));
  });
  it("never has more than asked, whatever the window", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 400 * 86_400_000 }), fc.integer({ min: 2, max: 12 }), (span, most) => {
        const ticks = timeTicks(at(3), at(3) + span, most);
        expect(ticks.length).toBeLessThanOrEqual(most + 1);
        expect(ticks.every((tick) => tick >= at(3) && tick <= at(3) + span)).toBe(true);
      }),
    );
  });
});

describe("axis of durations", () => {
  it("encloses what it shows", () => {
    expect(durationTicks(90_000, 5 * HOUR)).toEqual([60_000, 600_000, HOUR, 6 * HOUR]);
  });
});

it.each([
  [0, 1, [0, 1]],
  [1, 1, [0, 1]],
  [1.8, 0.1, [0, 0.5, 1, 1.5, 2]],
  [4, 1, [0, 1, 2, 3, 4]],
  [35, 0.1, [0, 10, 20, 30, 40]],
  [1_187, 1, [0, 500, 1_000, 1_500]],
])("an axis up to %s by at least %s has the ticks %j", (max, least, ticks) => {
  expect(valueTicks(max, least)).toEqual(ticks);
});
