import { describe, expect, it, vi } from "vitest";
import type { Meanings } from "@/lib/events/meanings.shapes";
import { searchedText, searchHref } from "./search.browser";

const ID = "0199aa00-0000-7000-8000-00000000abcd";

function knowing(known: Partial<Meanings>, counts: Partial<Record<string, number>> = {}) {
  const fetched = vi.fn(async (path: string) => {
    const text = new URLSearchParams(path.split("?")[1]).get("text")!;
    const names = (["eventId", "aggregateId", "traceId"] as const).map((name) => ({
      name,
      count: counts[name] ?? 0,
      kind: "exact" as const,
    }));
    const meanings: Meanings = { text, event: null, names, errorCodes: [], ...known };
    return new Response(JSON.stringify(meanings), { headers: { "content-type": "application/json" } });
  });
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

describe("a search leads to", () => {
  it("the event itself when the text is an id of ours", async () => {
    knowing({ event: { id: ID, eventId: "pay-1", source: "orders" } });
    expect(await searchHref(ID, { status: ["PENDING"] })).toBe(`/events/${ID}`);
  });

  it("all events of an aggregate, whatever the list showed before", async () => {
    knowing({}, { aggregateId: 7 });
    expect(await searchHref("order-1130", { status: ["PENDING"] })).toBe("/events?aggregateId=order-1130");
  });

  it("the event before the aggregate of the same name, and a trace when it is nothing else", async () => {
    knowing({}, { aggregateId: 7, eventId: 1 });
    expect(await searchHref("77", {})).toBe("/events?eventId=77");
    knowing({}, { traceId: 2 });
    expect(await searchHref("4bf92f35", {})).toBe("/events?traceId=4bf92f35");
  });

  it("words in error texts when it names nothing, within what the list shows", async () => {
    knowing({});
    expect(await searchHref("card declined", { source: ["orders"] })).toBe("/events?source=orders&q=card+declined");
  });

  it("words when nothing could be looked up", async () => {
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    expect(await searchHref("order-1130", {})).toBe("/events?q=order-1130");
  });

  it("the error code as it is stored, in whatever case it was typed", async () => {
    knowing({ errorCodes: ["TIMEOUT"] });
    expect(await searchHref("errorCode:timeout stock", {})).toBe("/events?errorCode=TIMEOUT&q=stock");
    knowing({ errorCodes: ["timeout", "TIMEOUT"] });
    expect(await searchHref("errorCode:timeout", {})).toBe("/events?errorCode=timeout");
    knowing({ errorCodes: [] });
    expect(await searchHref("errorCode:nope", {})).toBe("/events?errorCode=nope");
  });
});

it("other meanings are offered for one id or for words alone, in any window", () => {
  expect(searchedText({ q: "order-77", from: "-24h" })).toEqual({ name: "q", text: "order-77" });
  expect(searchedText({ aggregateId: ["order-77"] })).toEqual({ name: "aggregateId", text: "order-77" });
  expect(searchedText({ aggregateId: ["a", "b"] })).toBeNull();
  expect(searchedText({ aggregateId: ["a"], status: ["PENDING"] })).toBeNull();
  expect(searchedText({ source: ["orders"] })).toBeNull();
  expect(searchedText({})).toBeNull();
});
