import { describe, expect, it } from "vitest";
import { shouldTrip } from "@/lib/retry/breaker/trip";
import { inFlightMax } from "@/lib/retry/budget/strategies";
import { leastAt, mostAt } from "@/lib/retry/window/share";

describe("a share of a count", () => {
  it("is reached exactly, for every whole percent of every count up to 1,000", () => {
    for (let percent = 1; percent <= 100; percent++) {
      for (let total = 1; total <= 1_000; total++) {
        const least = Math.ceil((percent * total) / 100);
        const most = Math.floor((percent * total) / 100);
        if (leastAt(percent / 100, total) !== least || mostAt(percent / 100, total) !== most) {
          expect.fail(`${percent} % of ${total}`);
        }
      }
    }
  });

  it("is exact for thirds and for tenths of a per mille of large counts", () => {
    expect([leastAt(1 / 3, 3), leastAt(2 / 3, 3), leastAt(2 / 3, 300_000_000)]).toEqual([1, 2, 200_000_000]);
    expect([mostAt(1 / 3, 3), mostAt(2 / 3, 300_000_000)]).toEqual([1, 200_000_000]);
    expect([leastAt(0.0001, 10_001), mostAt(0.9999, 10_001)]).toEqual([2, 9_999]);
  });

  it("trips a breaker at its ratio and not one failure later", () => {
    const rates = { callsMin: 5, failureRatio: 0.28, slowCallMs: 900, slowRatio: 0.28 };
    expect(shouldTrip({ calls: 25, failures: 7, slow: 0 }, rates)).toBe(true);
    expect(shouldTrip({ calls: 25, failures: 0, slow: 7 }, rates)).toBe(true);
    expect(shouldTrip({ calls: 25, failures: 6, slow: 6 }, rates)).toBe(false);
  });

  it("bounds the retries in flight by the whole share", () => {
    expect(inFlightMax({ ratio: 0.7, retriesMin: 2 }, 90)).toBe(63);
    expect(inFlightMax({ ratio: 0.29, retriesMin: 2 }, 100)).toBe(29);
  });
});
