import { expect, test } from "vitest";
import { countsText } from "./search";

test("the parts of a state stand indented below it, in the order of an event's life", () => {
  const exact = (value: number) => ({ value, kind: "exact" as const, asOf: "2026-11-22T14:00:00.000Z" });
  const byStatus = {
    ...{ BOUNCED: exact(37), CONFIRMED: exact(500), PENDING: { ...exact(12_400), kind: "atLeast" as const } },
    ...{ COOLING: exact(0), REDRIVEN: exact(540), QUEUED: { ...exact(0), value: null }, IGNORED: exact(1) },
  };
  expect(countsText({ total: exact(12_981), byStatus })).toBe(
    [
      "total        12,981",
      "PENDING      at least 12,400",
      "  BOUNCED    37",
      "  COOLING    0",
      "QUEUED       unknown",
      "REDRIVEN     540",
      "  CONFIRMED  500",
      "IGNORED      1",
      "",
    ].join("\n"),
  );
});
