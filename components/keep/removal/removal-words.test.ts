import { expect, it } from "vitest";
import { goAndStay, whyTheyStay } from "./removal-words";

const preview = {
  removable: 118,
  kept: 6,
  byStatus: { IGNORED: 118, REDRIVEN: 3, PENDING: 2, QUEUED: 1 },
  keptByReason: { "not-settled": 2, "in-redrive": 1, unconfirmed: 1, "holds-later": 2 },
};

it("tells those that go from those that stay, and says why these do", () => {
  const { go, stay } = goAndStay(preview);
  expect(go).toEqual([
    { state: "CONFIRMED", count: 2 },
    { state: "IGNORED", count: 116 },
  ]);
  expect(stay).toEqual([
    { state: "PENDING", count: 2 },
    { state: "QUEUED", count: 1 },
    { state: "REDRIVEN", count: 1 },
    { state: "IGNORED", count: 2 },
  ]);
  expect(whyTheyStay(stay)).toBe(
    "2 are parked: ignore those that no one needs, then remove them. One is in a redrive. One was redriven and may still bounce. 2 hold later versions of the aggregate: send those first, or confirm or ignore them.",
  );
  expect(whyTheyStay([])).toBeNull();
});
