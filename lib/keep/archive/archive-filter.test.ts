import { describe, expect, it } from "vitest";
import { archiveFilterOf, archiveFiltersFor, archiveHref } from "./archive.browser";

describe("the filter of the archive", () => {
  it("is in the address as it was", () => {
    const filter = {
      eventId: "order-77-v3",
      aggregateId: "a&b=c",
      source: "orders",
      errorCode: "TIMEOUT",
      from: "2026-11-25",
      to: "-24h",
    };
    expect(archiveFilterOf(new URL(archiveHref(filter), "http://x").searchParams)).toEqual(filter);
    expect(archiveHref({})).toBe("/archive");
  });

  it("ignores empty and unknown names of the address", () => {
    expect(archiveFilterOf(new URLSearchParams("eventId=&status=IGNORED&source=orders"))).toEqual({ source: "orders" });
  });
});

describe("what a filter of the events list may have in the archive", () => {
  it("is the event or the aggregate that it names, within its source and error code", () => {
    expect(archiveFiltersFor({ aggregateId: ["order-77"], source: ["orders"], status: ["PENDING"] })).toEqual([
      { aggregateId: "order-77", source: "orders" },
    ]);
    expect(archiveFiltersFor({ eventId: ["order-77-v3"], source: ["orders", "billing"] })).toEqual([
      { eventId: "order-77-v3" },
    ]);
  });

  it("is either of them for a single word", () => {
    expect(archiveFiltersFor({ q: "order-77" })).toEqual([{ eventId: "order-77" }, { aggregateId: "order-77" }]);
    expect(archiveFiltersFor({ q: "connection refused" })).toEqual([]);
  });

  it("is nothing for a filter that names neither, or several", () => {
    expect(archiveFiltersFor({ source: ["orders"] })).toEqual([]);
    expect(archiveFiltersFor({ aggregateId: ["order-77", "order-78"] })).toEqual([]);
  });
});
