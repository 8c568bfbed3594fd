import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LinkFacts, linksOf, messageLinks, templateFault } from "./source-links.pure";

const FACTS: LinkFacts = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  eventId: "order-77 v3",
  aggregateId: "order/77&x=1",
  aggregateType: "order",
  source: "orders",
  errorCode: "TIMEOUT",
  atMs: Date.parse("2026-11-27T02:44:59.120Z"),
};

const urlOf = (url: string, facts: Partial<LinkFacts> = {}) =>
  linksOf([{ label: "Trace", kind: "traces", url }], { ...FACTS, ...facts })[0]!;

describe("a template", () => {
  test.each([
    ["https://jaeger.example/trace/{traceId}"],
    ["http://localhost:3000/explore?from={fromMs}&to={toMs}&q=%7Bapp=%22{source}%22%7D"],
    ["https://kibana.example/app/discover#/?_g=(time:(from:'{at}'))&_a=(query:'{eventId}')"],
    ["https://logs.example/static"],
  ])("is taken: %s", (url) => {
    expect(templateFault(url)).toBeNull();
  });

  test.each([
    ["https://x.example/{trace}", /^has the unknown placeholder \{trace\}: there are \{traceId\} \{eventId\}/],
    ["https://x.example/{}", /unknown placeholder \{\}/],
    ["https://x.example/{__proto__}", /unknown placeholder/],
    ["https://x.example/{traceId", /^has a \{ that is not closed/],
    ["https://x.example/traceId}", /^has a \} without its \{/],
    ["https://x.example/{{traceId}}", /^has a \{ that is not closed/],
    ["javascript:alert({traceId})", /must be an address that begins with http/],
    [" javascript:alert(1)", /spaces or invisible characters/],
    ["https://x.example/\u202e{traceId}", /invisible/],
    ["data:text/html,{traceId}", /must be an address/],
    ["//x.example/{traceId}", /must be an address/],
    ["https://", /must be an address/],
    ["ftp://x.example/{traceId}", /must be an address/],
    ["https://{eventId}.example/", /placeholder in the server name/],
    ["https:///{aggregateId}/x", /placeholder in the server name/],
    ["https://\\/{eventId}", /placeholder in the server name/],
    ["https://x.example:{atMs}/", /must be an address|in the server name/],
    ["https://ada:hunter2@x.example/{traceId}", /a user or password/],
    [`https://x.example/${"a".repeat(2_048)}`, /longer than 2048/],
  ])("is refused, and why: %s", (url, fault) => {
    expect(templateFault(url)).toMatch(fault);
    expect(templateFault(url)).not.toContain("hunter2");
  });
});

describe("a link of an event", () => {
  test("has each value percent-encoded, and the times around the failure", () => {
    expect(urlOf("https://x.example/{traceId}?e={eventId}&a={aggregateId}&t={aggregateType}&s={source}").url).toBe(
      `https://x.example/${FACTS.traceId}?e=order-77%20v3&a=order%2F77%26x%3D1&t=order&s=orders`,
    );
    expect(urlOf("https://x.example/?at={at}&ms={atMs}&from={fromMs}&to={toMs}&c={errorCode}").url).toBe(
      "https://x.example/?at=2026-11-27T02%3A44%3A59.120Z&ms=1795747499120&from=1795747199120&to=1795747799120&c=TIMEOUT",
    );
  });

  test("is left out where the event lacks a value, and says which", () => {
    const facts = { traceId: null, aggregateId: "" };
    expect(urlOf("https://x.example/{traceId}/{eventId}", facts)).toEqual({
      ...{ label: "Trace", kind: "traces", url: null, lacks: "no trace id" },
    });
    expect(urlOf("https://x.example/{traceId}/{aggregateId}/{traceId}", facts).lacks).toBe(
      "no trace id, no aggregate id",
    );
    expect(urlOf("https://x.example/{eventId}", facts).url).toBe("https://x.example/order-77%20v3");
  });

  test("is left out where a value of 10 kB makes it too long", () => {
    expect(urlOf("https://x.example/{traceId}", { traceId: "a".repeat(10_000) })).toMatchObject({
      url: null,
      lacks: "its values are too long for an address",
    });
  });

  test("stays on its server whatever an event holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 50 }), (text) => {
        const { url } = urlOf("https://x.example/a/{eventId}?q={eventId}&end=1", { eventId: text });
        const made = new URL(url!);
        expect(made.origin).toBe("https://x.example");
        expect(made.searchParams.get("end")).toBe("1");
        expect(made.searchParams.get("q")).toBe(text.toWellFormed());
        expect(url).toMatch(/^[\x21-\x7e]+$/);
        expect(url).not.toContain("|");
      }),
    );
  });

  test.each(["../../admin", "..", "\u202egnp.exe", "a\u200bb", "\ud800", "</a><script>", "javascript:alert(1)"])(
    "carries right-to-left, invisible and other odd characters encoded: %j",
    (eventId) => {
      const { url } = urlOf("https://x.example/logs?q={eventId}", { eventId });
      expect(new URL(url!).searchParams.get("q")).toBe(eventId.toWellFormed());
      expect(url).toMatch(/^https:\/\/x\.example\/logs\?q=[\w.~!*'()%-]*$/);
    },
  );
});

test("a message has at most three links, traces first, and none that is missing or too long", () => {
  const link = (
    label: string,
    kind: "logs" | "traces" | "other",
    url: string | null = `https://x.example/${label}`,
  ) => ({
    ...{ label, kind, url, lacks: null },
  });
  const links = [
    link("a", "other"),
    link("b", "logs"),
    link("c", "traces", null),
    link("d", "traces", `https://x.example/${"d".repeat(2_048)}`),
    link("e", "traces"),
    link("f", "logs"),
  ];
  expect(messageLinks(links).map(({ label }) => label)).toEqual(["e", "b", "f"]);
});
