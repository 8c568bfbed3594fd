import { expect, test } from "vitest";
import { type Finding, findingsByEntry, shownCheck } from "./chain.pure";

test.each([
  ["none before the first check", { last: null, standing: null }, null],
  ["the last one when no finding stands", { last: "good", standing: null }, "good"],
  ["the one whose finding stands, also after a good one", { last: "good", standing: "bad" }, "bad"],
])("the page shows %s", (_, chain, shown) => {
  expect(shownCheck(chain)).toBe(shown);
});

test("an entry is marked with the most telling of its findings, and one of a chain marks none", () => {
  const finding = (code: Finding["code"], entryId: string | null): Finding => ({
    ...{ code, entryId, seq: 1, detail: "" },
  });
  const findings = [finding("changed", "a"), finding("truncated", null), finding("late", "a"), finding("late", "b")];
  const marks = [...findingsByEntry({ findings })].map(([entryId, { code }]) => [entryId, code]);
  expect(marks).toEqual([
    ["a", "changed"],
    ["b", "late"],
  ]);
});
