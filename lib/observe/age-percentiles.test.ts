import { describe, expect, test } from "vitest";
import { agePercentiles, type HourCount, parkedHoursAt, youngestFirst } from "./age-percentiles.pure";

const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const at = (hour: number, n: number) => ({ hourMs: hour * HOUR, n });

describe("agePercentiles", () => {
  const agePercentile = (hours: HourCount[], share: number, atMs: number) =>
    agePercentiles(youngestFirst(hours), [share], atMs)[0];

  test("is null when nothing is parked", () => expect(agePercentile([at(3, 0)], 0.5, NOW)).toBeNull());

  test("lies within the hour that holds the share", () => {
    const hours = [at(10, 10), at(50, 80), at(99, 10)];
    expect(agePercentile(hours, 0.05, NOW)).toBe(HOUR / 2);
    expect(agePercentile(hours, 0.5, NOW)).toBe(49.5 * HOUR);
    expect(agePercentile(hours, 0.95, NOW)).toBe(89.5 * HOUR);
    expect(agePercentile(hours, 1, NOW)).toBe(90 * HOUR);
  });

  test("is never negative, also for the hour that still runs", () => {
    expect(agePercentile([at(99, 5)], 0, 99 * HOUR + 60_000)).toBe(0);
    expect(agePercentile([at(99, 5)], 1, 99 * HOUR + 60_000)).toBe(60_000);
  });
});

describe("parkedHoursAt", () => {
  test("ends with what is present, and lets the oldest leave first", () => {
    const history = {
      arrived: [at(1, 10), at(2, 10), at(3, 10)],
      present: [at(2, 4), at(3, 10)],
      left: [at(2, 5), at(4, 11)],
    };
    const ends = [2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR];
    const byHour = Array.from(parkedHoursAt(history, ends), (hours, index) =>
      Object.fromEntries(
        hours.filter(({ hourMs }) => hourMs < ends[index]!).map(({ hourMs, n }) => [hourMs / HOUR, n]),
      ),
    );
    expect(byHour).toEqual([{ 1: 10 }, { 1: 5, 2: 10 }, { 1: 5, 2: 10, 3: 10 }, { 1: 0, 2: 4, 3: 10 }]);
  });

  test("keeps what is present even when no arrival is on record", () => {
    expect([...parkedHoursAt({ arrived: [], present: [at(1, 3)], left: [at(2, 9)] }, [3 * HOUR])]).toEqual([
      [at(1, 3)],
    ]);
  });
});
