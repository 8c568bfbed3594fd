import { describe, expect, it } from "vitest";
import { draggedWindow, groupMarkers, placedMarkers } from "@/components/charts/marker-layout";

const marker = (second: number, kind: "redrive" | "control") => ({
  at: new Date(Date.UTC(2026, 10, 20, 12, 0, second)).toISOString(),
  kind,
  label: `${kind} at ${second}`,
  id: `${kind}-${second}`,
  href: null,
});

describe("markers on a chart", () => {
  it("joins what would overlap and keeps the rest apart, in order of time", () => {
    const groups = groupMarkers(
      [marker(50, "control"), marker(0, "redrive"), marker(9, "redrive"), marker(4, "control")],
      10_000,
    );
    expect(groups.map((group) => [group.items.length, group.kinds])).toEqual([
      [3, ["redrive", "control"]],
      [1, ["control"]],
    ]);
  });
});

describe("a mark on the axis", () => {
  const at = (second: number) => Date.UTC(2026, 10, 20, 12, 0, second);
  it("stands at its share of the time from the first to the last row, and none before it; those behind it stand at its end", () => {
    const items = [marker(50, "control"), marker(25, "redrive"), marker(59, "redrive"), marker(1, "control")];
    const axis = { fromMs: at(5), toMs: at(45), widthPx: 1_000 };
    const placed = placedMarkers(items, axis);
    expect(placed.map(({ share, items }) => [share, items.length])).toEqual([
      [0.5, 1],
      [1, 2],
    ]);
    expect(placedMarkers(items, { ...axis, toMs: at(5) })).toEqual([]);
  });
  it.each([
    [1_600, [1, 1]],
    [400, [2]],
    [0, [2]],
  ])("joins another that it would cover on a chart of %d px", (widthPx, sizes) => {
    const placed = placedMarkers([marker(25, "redrive"), marker(28, "control")], {
      fromMs: at(5),
      toMs: at(45),
      widthPx,
    });
    expect(placed.map(({ items }) => items.length)).toEqual(sizes);
  });
});

describe("dragging over a chart", () => {
  it("covers both ends in either direction", () => {
    expect(draggedWindow(7_000, 3_000)).toEqual({ fromMs: 3_000, toMs: 7_000 });
    expect(draggedWindow(3_000, 7_000)).toEqual({ fromMs: 3_000, toMs: 7_000 });
  });
});
