import { expect, test } from "vitest";
import { trendOf, usualOf } from "@/lib/observe/baseline.pure";
import { byDifference, type Compared, differenceOf } from "@/lib/observe/stats/difference.pure";

const USUAL = usualOf([100, 98, 103, 100, 99, 101, 100]);
const compared = (change: Partial<Compared>): Compared => ({
  now: 100,
  before: 100,
  isNew: false,
  usual: USUAL,
  ...change,
});

test.each<[string, Partial<Compared>, ReturnType<typeof differenceOf>]>([
  ["a group of the window is new, however few its events", { now: 1, before: 0, isNew: true }, "new"],
  ["more than usual and than before is rising", { now: 400 }, "rising"],
  ["more than usual, as it was before, is no difference", { now: 400, before: 410 }, null],
  ["more than before, and still usual, is no difference", { now: 105, before: 20 }, null],
  ["much after nothing is back", { now: 400, before: 0 }, "back"],
  ["far less is falling", { now: 10 }, "falling"],
  ["nothing, where much is usual, is gone", { now: 0 }, "gone"],
  ["nothing, as before, is no difference", { now: 0, before: 0 }, null],
  ["without days before the last window is the measure", { usual: null, now: 100, before: 16 }, "rising"],
  ["what chance makes of it is no difference", { usual: null, now: 20, before: 16 }, null],
  ["a few after nothing say nothing", { usual: null, now: 3, before: 0 }, null],
])("%s", (_, change, expected) => {
  expect(differenceOf(compared(change))).toBe(expected);
});

test("never calls rising or falling what the other pages call usual", () => {
  for (let now = 0; now < 400; now += 7) {
    for (let before = 0; before < 400; before += 13) {
      const verdict = differenceOf(compared({ now, before }));
      if (verdict === "rising" || verdict === "back") expect(trendOf(now, USUAL)).toBe("rising");
      if (verdict === "falling" || verdict === "gone") expect(trendOf(now, USUAL)).toBe("falling");
    }
  }
});

test("the list begins with what is new, and with the largest difference", () => {
  const row = (verdict: "new" | "rising" | "gone", now: number, before: number) => ({ verdict, now, before });
  const rows = [row("gone", 0, 900), row("rising", 90, 30), row("rising", 900, 30), row("new", 1, 0)];
  expect(byDifference(rows)).toEqual([rows[3], rows[2], rows[1], rows[0]]);
});
