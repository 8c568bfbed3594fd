import { expect, it } from "vitest";
import { goAndStay, removalTitle, removalVerb, whyTheyStay } from "./removal-words";

const preview = {
  removable: 118,
  kept: 6,
  byStatus: { IGNORED: 118, REDRIVEN: 3, PENDING: 2, QUEUED: 1 },
  keptByReason: { "not-settled": 2, "in-redrive": 1, unconfirmed: 1, "holds-later": 2 },
};
const uncounted = { removable: null, kept: null, byStatus: {}, keptByReason: {} };

it("says in its title how many of the selected events go", () => {
  expect(removalTitle(preview, 122)).toBe("Remove 118 of 124 events");
  expect(removalTitle({ ...uncounted, removable: 1, kept: 0 }, 1)).toBe("Remove 1 event");
  expect(removalTitle({ ...uncounted, removable: 0, kept: 2 }, 2)).toBe("None of these events can be removed");
  expect(removalTitle({ ...uncounted, removable: 0, kept: 1 }, 1)).toBe("This event stays");
  expect(removalTitle(uncounted, null)).toBe("Remove all matching events");
});

it("has the number of the selection until the removal is counted", () => {
  expect(removalTitle(undefined, 121)).toBe("Remove 121 events");
  expect(removalTitle(undefined, null)).toBe("Remove all matching events");
});

it("has the number that goes on its button, and none that is not known", () => {
  expect(removalVerb(preview)).toBe("Remove 118 events");
  expect(removalVerb(undefined)).toBe("Remove");
  expect(removalVerb(uncounted)).toBe("Remove");
});

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
    "2 are parked: ignore what nobody needs, then remove it. One is in a redrive. One was redriven and may still come back. 2 hold later versions of the aggregate: let these pass first, or settle them.",
  );
  expect(whyTheyStay([])).toBeNull();
});
