import { describe, expect, it } from "vitest";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { fromSearchParams } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { filterHref, readFilter, withPart } from "./filter-read.browser";

const filter: EventFilter = {
  errorCode: ["TIMEOUT", "UPSTREAM_5XX"],
  status: ["PENDING", "BOUNCED"],
  tags: { "order.id": ["77", "78"], region: ["eu"] },
  from: "-24h",
  q: "stock & <down>",
};

describe("readFilter", () => {
  it("reads what toSearchParams wrote, as the server does", () => {
    const params = toSearchParams(filter);
    expect(readFilter(params)).toEqual({ filter, fault: null });
    expect(fromSearchParams(params)).toEqual(filter);
  });

  it("skips the page's own parameters and refuses any other name, rather than widening", () => {
    expect(readFilter(new URLSearchParams("source=orders&open=0199&tab=error")).filter).toEqual({ source: ["orders"] });
    const { filter: none, fault } = readFilter(new URLSearchParams("source=orders&sources=x&from=-1h&from=-2h"));
    expect(none).toBeNull();
    expect(fault?.fields.map(({ field }) => field)).toEqual(["sources", "from"]);
  });

  it("hands a wrong value on, for the server to refuse", () => {
    expect(readFilter(new URLSearchParams("from=zzz")).filter).toEqual({ from: "zzz" });
    expect(() => fromSearchParams(new URLSearchParams("from=zzz"))).toThrow("from");
  });
});

it("keeps the page's own parameters in an address, and nothing else of the old one", () => {
  const now = new URLSearchParams("errorCode=OLD&open=0199");
  expect(filterHref("/events", { source: ["orders"] }, now)).toBe("/events?source=orders&open=0199");
  expect(filterHref("/events", {})).toBe("/events");
});

it("takes a name out that is set to undefined", () => {
  expect(withPart({ from: "-1h", source: ["orders"] }, { from: undefined, to: "now" })).toEqual({
    source: ["orders"],
    to: "now",
  });
});
