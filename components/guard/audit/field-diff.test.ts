import { describe, expect, it } from "vitest";
import { diffSummary, fieldDiff } from "@/components/guard/audit/field-diff";

describe("before and after", () => {
  it("names each field with what happened to it", () => {
    expect(
      fieldDiff(
        { state: "RUNNING", rate: 5, canary: { steps: [1, 10] }, note: null },
        { state: "PAUSED", canary: { steps: [1, 20, 100] }, rate: 5, pausedBy: "ann" },
      ),
    ).toEqual([
      { path: "state", kind: "changed", before: '"RUNNING"', after: '"PAUSED"' },
      { path: "rate", kind: "same", before: "5", after: "5" },
      { path: "canary.steps[0]", kind: "same", before: "1", after: "1" },
      { path: "canary.steps[1]", kind: "changed", before: "10", after: "20" },
      { path: "note", kind: "removed", before: "null", after: null },
      { path: "canary.steps[2]", kind: "added", before: null, after: "100" },
      { path: "pausedBy", kind: "added", before: null, after: '"ann"' },
    ]);
  });

  it("lists only additions when something was made, only removals when it was deleted", () => {
    expect(fieldDiff(null, { name: "orders" }).map((change) => change.kind)).toEqual(["added"]);
    expect(fieldDiff({ name: "orders" }, undefined).map((change) => change.kind)).toEqual(["removed"]);
    expect(fieldDiff(null, null)).toEqual([]);
  });

  it("tells a value from its text, and an empty list from nothing", () => {
    expect(fieldDiff({ v: 1, tags: [] }, { v: "1", tags: {} }).map((change) => change.kind)).toEqual([
      "changed",
      "changed",
    ]);
  });

  it("ends on deep and wide values", () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 1_000; depth++) deep = { deep };
    expect(fieldDiff(null, deep)).toHaveLength(1);
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
    expect(fieldDiff(null, { wide })).toHaveLength(1);
  });

  it("sums up what changed and says how much more there is", () => {
    const changes = fieldDiff({ a: 1, b: 2, c: 3, d: 4 }, { a: 1, b: 3, d: 5, e: 6 });
    expect(diffSummary(changes)).toBe("b: 2 → 3, c: was 3, 2 more");
    expect(diffSummary(fieldDiff({ a: 1 }, { a: 1 }))).toBe("");
  });
});
