import { describe, expect, it } from "vitest";
import { earlierOptions, earlierSentence, strandWords } from "@/components/redrive/dialog/earlier-words";
import type { EarlierOut } from "@/lib/redrive/preview/redrive-preview.shapes";

const earlier = (change: Partial<EarlierOut> = {}): EarlierOut => ({
  heldEvents: 7,
  heldAggregates: 3,
  earlierEvents: 6,
  takenAlong: 6,
  bounded: false,
  samples: [],
  ...change,
});

describe("what is said of earlier versions", () => {
  it("says how many events are behind how many, and that a count is a lower bound", () => {
    expect(earlierSentence(earlier())).toBe(
      "7 of the events are behind 6 earlier versions that the selection leaves parked, in 3 aggregates.",
    );
    expect(earlierSentence(earlier({ heldEvents: 1, heldAggregates: 1, earlierEvents: 1, bounded: true }))).toBe(
      "At least 1 of the events is behind 1 earlier version that the selection leaves parked, in 1 aggregate.",
    );
  });

  it("offers first what goes without them, and says what passing strands", () => {
    const options = earlierOptions(earlier(), true, 233);
    expect(options.map(({ choice }) => choice)).toEqual(["hold", "include", "pass"]);
    expect(options[0]!.label).toBe("Send only the 233 that can go now");
    expect(earlierOptions(earlier(), true, 0)[0]!.label).toBe("Send only what can go now");
    expect(options[2]!.detail).toContain("strands 6 earlier versions");
    expect(strandWords(earlier())).toBe("strand 6");
  });
});
