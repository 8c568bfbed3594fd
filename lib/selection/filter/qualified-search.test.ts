import { describe, expect, it } from "vitest";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import {
  addTerm,
  applySearch,
  parseSearch,
  removeTerm,
  termsOf,
  typedToken,
  writeTerm,
} from "./qualified-search.browser";

describe("parseSearch", () => {
  it("takes known names as qualifiers, in any case, and the rest as words", () => {
    expect(parseSearch("errorcode:TIMEOUT aggregateId:order-77 stock is down")).toEqual({
      terms: [
        { name: "errorCode", value: "TIMEOUT" },
        { name: "aggregateId", value: "order-77" },
      ],
      words: "stock is down",
      unread: [],
    });
  });

  it("keeps what an error text has before a colon as words", () => {
    expect(parseSearch("http://stock:8080 Error: refused")).toEqual({
      terms: [],
      words: "http://stock:8080 Error: refused",
      unread: [],
    });
  });

  it("reads quoted values, also while the closing quote is missing", () => {
    expect(parseSearch('aggregateId:"order 77" tag.region:"eu west').terms).toEqual([
      { name: "aggregateId", value: "order 77" },
      { name: "tag.region", value: "eu west" },
    ]);
  });

  it("accepts a status in lower case and leaves an unknown one to the words", () => {
    expect(parseSearch("status:pending status:gone")).toEqual({
      terms: [{ name: "status", value: "PENDING" }],
      words: "status:gone",
      unread: [expect.stringContaining("gone is no state: use PENDING")],
    });
  });

  it.each([
    ["orderId:2000", "orderId is not a filter name (did you mean tag.orderId:2000?)"],
    ["-errorCod:TIMEOUT", "-errorCod is not a filter name (did you mean -errorCode:TIMEOUT?)"],
    ["status:PENDIN", "PENDIN is no state (did you mean PENDING?): use PENDING, "],
    ["-failedFrom:-7d", "-failedFrom: cannot be excluded"],
    ["-status:gone", "gone is no state: use PENDING"],
    ["-customer:bar", "-customer is not a filter name (did you mean -tag.customer:bar?)"],
  ])("says of %s that it is not understood, and keeps it as words", (typed, why) => {
    expect(parseSearch(typed)).toEqual({ terms: [], words: typed, unread: [expect.stringContaining(why)] });
  });

  it("excludes the value of a qualifier after a minus, and keeps other dashes as words", () => {
    expect(parseSearch('-errorcode:TIMEOUT -tag.region:"eu west" not.source:orders -v --status:PENDING -1:30')).toEqual(
      {
        terms: [
          { name: "not.errorCode", value: "TIMEOUT" },
          { name: "not.tag.region", value: "eu west" },
          { name: "not.source", value: "orders" },
        ],
        words: "-v --status:PENDING -1:30",
        unread: [],
      },
    );
  });

  it.each([
    "12:30:05",
    "java.lang.IllegalStateException:null",
    "at https://stock/a:1",
    "Error:",
    "10.0.0.1:5432",
    "C:\\temp\\x",
  ])("takes %s for words and nothing else", (typed) => {
    expect(parseSearch(typed)).toEqual({ terms: [], words: typed, unread: [] });
  });
});

describe("terms of a filter", () => {
  const filter: EventFilter = {
    errorCode: ["TIMEOUT", "UPSTREAM_5XX"],
    status: ["PENDING"],
    tags: { region: ["eu"] },
    failedFrom: "-7d",
    q: "stock",
    from: "-24h",
  };

  it("come back as the same filter when added one by one", () => {
    expect(termsOf(filter).reduce(addTerm, { from: "-24h" } as EventFilter)).toEqual(filter);
  });

  it("leave nothing behind when each is taken out", () => {
    expect(termsOf(filter).reduce(removeTerm, filter)).toEqual({ from: "-24h" });
  });

  it("survive being written and typed again", () => {
    const odd: EventFilter = {
      aggregateId: ["order 77"],
      aggregateType: ["order"],
      tags: { "order.id": ["a:b"] },
      "not.errorCode": ["A", "B C"],
      "not.tags": { region: ["eu"] },
    };
    const typed = termsOf(odd).map(writeTerm).join(" ");
    expect(applySearch({}, typed)).toEqual(odd);
  });

  it("replace the opposite term of the same value", () => {
    const excluded = addTerm({ source: ["orders", "billing"] }, { name: "not.source", value: "orders" });
    expect(excluded).toEqual({ source: ["billing"], "not.source": ["orders"] });
    expect(addTerm(excluded, { name: "source", value: "orders" })).toEqual({ source: ["billing", "orders"] });
    expect(addTerm({ tags: { a: ["b"] } }, { name: "not.tag.a", value: "b" })).toEqual({ "not.tags": { a: ["b"] } });
  });

  it("are not doubled by adding the same again", () => {
    expect(addTerm({ source: ["orders"] }, { name: "source", value: "orders" })).toEqual({ source: ["orders"] });
  });
});

describe("applySearch", () => {
  it("replaces words, adds values and leaves the window alone", () => {
    expect(applySearch({ q: "old", errorCode: ["A"], from: "-1h" }, "errorCode:B new words")).toEqual({
      q: "new words",
      errorCode: ["A", "B"],
      from: "-1h",
    });
  });

  it("keeps the words when only a qualifier was entered", () => {
    expect(applySearch({ q: "old" }, "source:orders")).toEqual({ q: "old", source: ["orders"] });
  });
});

describe("typedToken", () => {
  it("offers values once a name is complete, and names before", () => {
    expect(typedToken("source:orders err")).toEqual({ before: "source:orders ", name: null, part: "err" });
    expect(typedToken("source:orders errorcode:TI")).toEqual({
      before: "source:orders ",
      name: "errorCode",
      part: "TI",
    });
    expect(typedToken("stock -err")).toEqual({ before: "stock -", name: null, part: "err" });
    expect(typedToken("-errorcode:TI")).toEqual({ before: "-", name: "errorCode", part: "TI" });
  });
});
