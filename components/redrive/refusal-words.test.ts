import { describe, expect, it } from "vitest";
import { acceptedEvents, refusalShort, refusalSummary, refusedTotal } from "@/components/redrive/refusal-words";

describe("why events are refused", () => {
  it("sums up in one line, with the tail folded", () => {
    expect(refusalSummary({ blacklisted: 1_200, cooling: 41, ignored: 20 })).toBe(
      "blacklisted 1,200 · cooling 41 · ignored 20",
    );
    expect(refusalSummary({ blacklisted: 9, cooling: 8, ignored: 7, "no-target": 6, "not-found": 5 }, 3)).toBe(
      "blacklisted 9 · cooling 8 · ignored 7 · other 11",
    );
    expect(refusedTotal({ blacklisted: 9, cooling: 8 })).toBe(17);
  });

  it("is no event of a redrive that does not exist, or has other bytes than passed", () => {
    const refusedByReason = { "not-found": 1, "changed-since": 2, cooling: 1 };
    expect(acceptedEvents({ total: 3, refused: 4, refusedByReason })).toBe(2);
  });

  it("shows a reason it does not know rather than hiding it", () => {
    expect(refusalSummary({ "moon-phase": 3 })).toBe("moon phase 3");
    // A name every object inherits is no refusal either.
    expect(refusalShort("constructor")).toBe("constructor");
  });
});
