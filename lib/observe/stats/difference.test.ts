import { expect, test } from "vitest";
import { byDifference, type Compared, differenceOf } from "@/lib/observe/stats/difference.pure";

test.each<[string, Omit<Compared, "trend"> & Partial<Compared>, ReturnType<typeof differenceOf>]>([
  ["a new group, however few its events", { now: 1, before: 0, verdict: "new" }, "new"],
  ["a group that came back", { now: 3, before: 0, verdict: "back" }, "back"],
  ["more than usual and than before", { now: 400, before: 100, verdict: "rising" }, "rising"],
  ["more than usual, as it was before", { now: 400, before: 410, verdict: "rising" }, null],
  ["more than before, and still usual", { now: 105, before: 20, verdict: "steady" }, null],
  ["far less", { now: 10, before: 100, verdict: "falling" }, "falling"],
  ["less than usual, as it was before", { now: 10, before: 9, verdict: "falling" }, null],
  [
    "more than before in a rise that is over",
    { now: 400, before: 100, verdict: "falling", trend: "rising" },
    "falling",
  ],
  ["nothing, where much is usual", { now: 0, before: 100, verdict: "falling" }, "gone"],
  ["nothing, as before", { now: 0, before: 0, verdict: "falling" }, null],
])("%s", (_, compared, expected) => {
  expect(differenceOf({ trend: "usual", ...compared })).toBe(expected);
});

test("the list begins with what is new, and with the largest difference", () => {
  const row = (verdict: "new" | "rising" | "gone", now: number, before: number) => ({ verdict, now, before });
  const rows = [row("gone", 0, 900), row("rising", 90, 30), row("rising", 900, 30), row("new", 1, 0)];
  expect(byDifference(rows)).toEqual([rows[3], rows[2], rows[1], rows[0]]);
});
