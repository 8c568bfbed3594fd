import { describe, expect, it } from "vitest";
import { archivedLine, restoredText } from "./archive-words";

const refusal = { id: "r", detail: "its source does not exist" };

it("says what a restore did, and what stays and why", () => {
  expect(restoredText({ restored: 3, duplicates: 0, refused: [] })).toEqual({
    title: "Restored 3 events",
    detail: undefined,
  });
  expect(restoredText({ restored: 1, duplicates: 1, refused: [refusal, refusal] })).toEqual({
    title: "Restored 1 event",
    detail: "One came in again meanwhile and is stored already. 2 stay in the archive.",
  });
  expect(restoredText({ restored: 0, duplicates: 2, refused: [refusal] })).toEqual({
    title: "No event was restored",
    detail: "2 came in again meanwhile and are stored already. One stays in the archive.",
  });
});

describe("the line of the events list", () => {
  it("counts what more there is of an aggregate", () => {
    expect(archivedLine({ aggregateId: "order-77" }, { count: 2, more: false }, true)).toBe("2 more of order-77 lie");
    expect(archivedLine({ aggregateId: "order-77" }, { count: 1, more: false }, true)).toBe("1 more of order-77 lies");
    expect(archivedLine({ aggregateId: "order-77" }, { count: 100, more: true }, true)).toBe(
      "At least 100 more of order-77 lie",
    );
  });

  it("does not say more where the list has none", () => {
    expect(archivedLine({ aggregateId: "order-77" }, { count: 2, more: false }, false)).toBe(
      "2 events of order-77 lie",
    );
    expect(archivedLine({ eventId: "order-77-v3" }, { count: 1, more: false }, false)).toBe("Event order-77-v3 lies");
  });

  it("names events of one id in several sources", () => {
    expect(archivedLine({ eventId: "order-77-v3" }, { count: 1, more: false }, true)).toBe(
      "Another event order-77-v3 lies",
    );
    expect(archivedLine({ eventId: "order-77-v3" }, { count: 2, more: false }, false)).toBe("2 events order-77-v3 lie");
  });
});
