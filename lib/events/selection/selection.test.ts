import { describe, expect, it } from "vitest";
import { SELECTED_IDS_MAX } from "@/lib/events/selection/selected-ids.shapes";
import {
  extendTo,
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

  it("as all matching is the filter, also for rows nobody loaded, and single rows do not change it", () => {
    const all: Picked = { kind: "all" };
    expect(selectionOf(all, { errorCode: ["TIMEOUT"] })).toEqual({ filter: { errorCode: ["TIMEOUT"] } });
    expect(isPicked(all, "never-loaded")).toBe(true);
    expect(toggle(all, "a")).toBe(all);
    expect(extendTo(all, "a", ORDER)).toBe(all);
  });

  it("as all matching loses single rows once all of them are loaded", () => {
    const all: Picked = { kind: "all" };
    expect(toggle(all, "b", ["a", "b", "c"])).toEqual({ kind: "ids", ids: new Set(["a", "c"]), anchor: "b" });
    expect(toggle(all, "zz", ["a", "b", "c"])).toBe(all);
    expect(
      toggle(
        all,
        "0",
        Array.from({ length: SELECTED_IDS_MAX + 1 }, (_, index) => String(index)),
      ),
    ).toBe(all);
    expect(toggle(all, "a", ["a"])).toEqual(NOTHING);
  });

  it("counts all matching as unknown when their number is", () => {
    expect(pickedCount({ kind: "all" }, null)).toBeNull();
    expect(pickedCount({ kind: "all" }, 12_481)).toBe(12_481);
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
    expect(toggleLoaded({ kind: "all" }, ORDER)).toEqual(NOTHING);
    expect(selectionOf(NOTHING, {})).toBeNull();
  });
});
