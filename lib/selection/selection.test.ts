import { describe, expect, it } from "vitest";
import { SELECTED_IDS_MAX } from "@/lib/selection/selected-ids.shapes";
import {
  ALL,
  extendTo,
  isExceptFull,
  isPicked,
  NOTHING,
  type Picked,
  pickedCount,
  selectionOf,
  toggle,
  toggleLoaded,
} from "./selection.browser";

const ORDER = ["a", "b", "c", "d", "e"];
const ids = (now: Picked) => (now.kind === "ids" ? [...now.ids].sort() : now.kind);

describe("the selection", () => {
  it("ends when its last row is taken out", () => {
    expect(toggle(toggle(NOTHING, "a"), "a")).toEqual(NOTHING);
  });

  it("extends from the row toggled last, in both directions, and keeps what was there", () => {
    const fromC = toggle(toggle(NOTHING, "a"), "c");
    expect(ids(extendTo(fromC, "e", ORDER))).toEqual(["a", "c", "d", "e"]);
    expect(ids(extendTo(fromC, "b", ORDER))).toEqual(["a", "b", "c"]);
  });

  it("keeps the anchor, so that a range can be drawn again from the same row", () => {
    const wide = extendTo(toggle(NOTHING, "b"), "d", ORDER);
    expect(ids(extendTo(wide, "a", ORDER))).toEqual(["a", "b", "c", "d"]);
  });

  it("selects the one row when the anchor has left the list", () => {
    const gone = toggle(NOTHING, "zz");
    expect(ids(extendTo(gone, "b", ORDER))).toEqual(["b", "zz"]);
  });

  it("as all matching is the filter, also for rows nobody loaded, and a range does not change it", () => {
    expect(selectionOf(ALL, { errorCode: ["TIMEOUT"] })).toEqual({ filter: { errorCode: ["TIMEOUT"] } });
    expect(isPicked(ALL, "never-loaded")).toBe(true);
    expect(extendTo(ALL, "a", ORDER)).toBe(ALL);
  });

  it("as all matching leaves out the rows that are unticked, by their eventId, and takes them in again", () => {
    const but = toggle(toggle(ALL, "1", "e-1"), "2", "e-2");
    const filter = { status: ["PENDING" as const], "not.eventId": ["e-0"] };
    expect(selectionOf(but, filter)).toEqual({
      filter: { status: ["PENDING"], "not.eventId": ["e-0", "e-1", "e-2"] },
    });
    expect([isPicked(but, "1", "e-1"), isPicked(but, "3", "e-3")]).toEqual([false, true]);
    // The same eventId of another source is left out as well.
    expect(isPicked(but, "9", "e-1")).toBe(false);
    expect(selectionOf(toggle(toggle(but, "1", "e-1"), "2", "e-2"), {})).toEqual({ filter: {} });
  });

  it("leaves out as many rows as the filter may exclude", () => {
    let but = ALL;
    for (let n = 0; n < 98; n++) but = toggle(but, `${n}`, `e-${n}`);
    expect(isExceptFull(but, { "not.eventId": ["other", "e-3"] })).toBe(false);
    expect(isExceptFull(but, { "not.eventId": ["other", "another"] })).toBe(true);
  });

  it("counts all matching as unknown when their number is", () => {
    expect(pickedCount(ALL, null)).toBeNull();
    expect(pickedCount(ALL, 12_481)).toBe(12_481);
    expect(pickedCount(toggle(NOTHING, "a"), 12_481)).toBe(1);
  });

  it("never names more ids than one request may carry", () => {
    const many = Array.from({ length: SELECTED_IDS_MAX + 5 }, (_, index) => String(index));
    const full = toggleLoaded(NOTHING, many);
    expect(pickedCount(full, null)).toBe(SELECTED_IDS_MAX);
    expect(pickedCount(toggle(full, "one more"), null)).toBe(SELECTED_IDS_MAX);
  });

  it("from the head takes all loaded rows, or lets go of whatever is selected", () => {
    expect(ids(toggleLoaded(NOTHING, ORDER))).toEqual(ORDER);
    expect(toggleLoaded(ALL, ORDER)).toEqual(NOTHING);
    expect(selectionOf(NOTHING, {})).toBeNull();
  });
});
