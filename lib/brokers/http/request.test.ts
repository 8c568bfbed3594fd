import { describe, expect, it } from "vitest";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { headersLeftOut, requestHeaders, structuredString } from "@/lib/brokers/http/request";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { OutboundMessage } from "@/lib/brokers/port";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

function headersOf(change: Partial<OutboundMessage> = {}, config: HttpConfig = {}): [string, string][] {
  const flat = requestHeaders(
    {
      eventId: "evt-9",
      payload: Buffer.from("{}"),
      contentType: "application/json",
      headers: [],
      origin: {},
      idempotencyKey: "shop:evt-9",
      redriveId: "018f9c4e-1111-7000-8000-000000000001",
      attempt: 2,
      from: "shop",
      traceId: null,
      ...change,
    },
    config,
  );
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[index * 2]!, flat[index * 2 + 1]!]);
}

const headerIn = (headers: [string, string][], name: string) => headers.find(([other]) => other === name)?.[1];

describe("structuredString", () => {
  it.each([
    ["shop:evt-9", '"shop:evt-9"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["50% off", '"50% off"'],
    ["é 50%", '"%C3%A9 50%25"'],
    ["a\r\nb", '"a%0D%0Ab"'],
    ["\ud800", '"%EF%BF%BD"'],
    ["", '""'],
  ])("%j -> %s", (text, expected) => expect(structuredString(text)).toBe(expected));
});

describe("requestHeaders", () => {
  it("sends the documented set when nothing was parked", () => {
    expect(headersOf()).toEqual([
      ["content-type", "application/json"],
      ["idempotency-key", '"shop:evt-9"'],
      ["x-redrive-id", "018f9c4e-1111-7000-8000-000000000001"],
      ["x-redrive-attempt", "2"],
      ["x-redrive-from", "shop"],
    ]);
  });

  it("names the revision, unless it is the first, and passes on no parked number", () => {
    const numbers = (change: Partial<OutboundMessage>) =>
      headersOf({ headers: [["X-Redrive-Revision", "7"]], ...change }).filter(([name]) => /revision/i.test(name));
    expect(numbers({})).toEqual([]);
    expect(numbers({ revision: 2 })).toEqual([["x-redrive-revision", "2"]]);
  });

  it.each<[string, OutboundMessage["headers"], number | undefined, string[]]>([
    ["no count when nothing was repeated", [], 0, []],
    ["no count when nobody counted", [], undefined, []],
    ["the repeats so far", [], 3, ["3"]],
    ["the repeats in place of the parked count", [["X-Retry-Count", "2"]], 3, ["3"]],
    ["the parked count untouched when nothing was repeated", [["x-retry-count", "none"]], 0, ["none"]],
  ])("passes on %s", (_, headers, retryCount, expected) => {
    const counts = headersOf({ headers, retryCount }).filter(([name]) => name.toLowerCase() === "x-retry-count");
    expect(counts.map(([, value]) => value)).toEqual(expected);
  });

  it("leaves a fixed x-retry-count of the configuration alone", () => {
    const headers = headersOf({ retryCount: 3 }, { headers: { "x-retry-count": "9" } });
    expect(headers.filter(([name]) => name === "x-retry-count")).toEqual([["x-retry-count", "9"]]);
  });

  it("keeps order and duplicates of the application's headers", () => {
    const headers = headersOf({
      headers: [
        ["b", "1"],
        ["a", "2"],
        ["b", "3"],
      ],
    });
    expect(headers.slice(0, 3)).toEqual([
      ["b", "1"],
      ["a", "2"],
      ["b", "3"],
    ]);
  });

  it.each([
    ["connection", "close"],
    ["Transfer-Encoding", "chunked"],
    ["HOST", "elsewhere"],
    ["content-length", "7"],
    ["Idempotency-Key", '"other"'],
    ["authorization", "Bearer old"],
    ["cookie", "a=b"],
    ["x-death", "[]"],
    ["x-redrive-id", "old"],
    ["bad name", "1"],
    ["x-evil", "1\r\nx-forged: 1"],
    ["x-nul", "a\u0000b"],
  ])("does not restore %s: %j", (name, value) => {
    expect(headersOf({ headers: [[name, value]] })).toEqual(headersOf());
  });

  it("forwards parked credentials on request", () => {
    const headers: OutboundMessage["headers"] = [
      ["Authorization", "Bearer old"],
      ["Cookie", "session=old"],
    ];
    expect(headersOf({ headers }, { forwardCredentials: true }).slice(0, 2)).toEqual(headers);
  });

  it.each<[string, OutboundMessage["headers"][number], [string, string] | null]>([
    ["UTF-8 as its bytes", ["x", "é"], ["x", "Ã©"]],
    ["text in bytes", ["x", "aGk=", "bytes"], ["x", "hi"]],
    ["no binary", ["x", "/wA=", "bytes"], null],
    ["no absent value", ["x", null], null],
    ["typed integers", ["x", '{"!":"int64","value":"9007199254740993"}', "amqp"], ["x", "9007199254740993"]],
    ["typed numbers", ["x", '{"!":"double","value":0.1}', "amqp"], ["x", "0.1"]],
    ["booleans", ["x", "true", "amqp"], ["x", "true"]],
    ["no tables", ["x", '{"a":"b"}', "amqp"], null],
    ["CloudEvents attributes by their HTTP names", ["cloudEvents:id", "7"], ["ce-id", "7"]],
  ])("translates %s", (_, header, expected) => {
    const added = headersOf({ headers: [header] }).slice(0, -headersOf().length);
    expect(added).toEqual(expected === null ? [] : [expected]);
  });

  it("goes on with the parked trace in a new span, and keeps the decision to sample", () => {
    const headers: OutboundMessage["headers"] = [["traceparent", `00-${TRACE}-00f067aa0ba902b7-00`]];
    const first = headerIn(headersOf({ traceId: TRACE, headers }), "traceparent")!;
    const second = headerIn(headersOf({ traceId: TRACE, headers }), "traceparent")!;
    expect(first).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(first).not.toBe(second);
    expect(headerIn(headersOf({ traceId: TRACE }), "traceparent")).toMatch(/-01$/);
    expect(headerIn(headersOf({ traceId: "no trace" }), "traceparent")).toBeUndefined();
  });

  it("puts fixed headers in the place of parked ones", () => {
    const headers = headersOf({ headers: [["X-Env", "parked"]] }, { headers: { "x-env": "fixed" } });
    expect(headers.filter(([name]) => name.toLowerCase() === "x-env")).toEqual([["x-env", "fixed"]]);
  });
});

describe("headersLeftOut", () => {
  it("names what HTTP cannot carry, by its name or by its value, once each", () => {
    const headers: OutboundMessage["headers"] = [
      ["x-fine", "é"],
      ["my header", "v"],
      ["x:y", "v"],
      ["\u00fcn\u00ef", "v"],
      ["", "v"],
      ["x-line", "a\nb"],
      ["x-line", "a\rb"],
      ["x-bytes", Buffer.from([0, 0xff, 0x10]).toString("base64"), "bytes"],
      ["x-text-bytes", Buffer.from("text").toString("base64"), "bytes"],
      ["x-table", '{"!":"table","value":[]}', "amqp"],
      ["x-count", '{"!":"int32","value":7}', "amqp"],
      ["x-none", null],
      ["cloudEvents:type", "order"],
    ];
    expect(headersLeftOut({}, { headers, origin: {} })).toEqual([
      ...['"my header"', '"x:y"', '"\u00fcn\u00ef"', '""', '"x-line"', '"x-bytes"', '"x-table"', '"x-none"'],
    ]);
    const sent = headersOf({ headers }).map(([name]) => name);
    expect(sent.slice(0, 4)).toEqual(["x-fine", "x-text-bytes", "x-count", "ce-type"]);
  });

  it("has the token as its only Authorization", () => {
    const oauth = { url: "https://login.example/token", clientId: "a", clientSecret: "env:PARKADE_SECRET_A" };
    const { config } = parseSourceConfig("http", { oauth, redriveUrl: "https://h/a", forwardCredentials: true });
    const headers: OutboundMessage["headers"] = [["Authorization", "Basic of-its-producer"]];
    expect(headersOf({ headers }, config as HttpConfig).map(([name]) => name.toLowerCase())).not.toContain(
      "authorization",
    );
    for (const [settings, field] of [
      [{ headers: { Authorization: "env:PARKADE_SECRET_B" } }, "config.headers.Authorization"],
      [{ redriveUrl: "https://user:password@h/a" }, "config.redriveUrl"],
      [
        { signing: { scheme: "hmac", secret: "env:PARKADE_SECRET_B", header: "authorization" } },
        "config.signing.header",
      ],
    ] as const)
      expect(() => parseSourceConfig("http", { oauth, ...settings })).toThrow(
        expect.objectContaining({ fields: [{ field, detail: expect.stringMatching(/oauth.*remove one/) }] }),
      );
  });

  it("names none that a request never forwards, or that the configuration sets", () => {
    const headers: OutboundMessage["headers"] = [
      ["connection", "a\nb"],
      ["authorization", "a\nb"],
      ["x-redrive-id", "a\nb"],
      ["x-own", "a\nb"],
    ];
    expect(headersLeftOut({ headers: { "X-Own": "1" } }, { headers, origin: {} })).toEqual([]);
    expect(headersLeftOut({ forwardCredentials: true }, { headers, origin: {} })).toEqual([
      '"authorization"',
      '"x-own"',
    ]);
  });

  it("shortens a long name, and shows a line break as one", () => {
    const [shown] = headersLeftOut({}, { headers: [[`a\n${"x".repeat(900)}`, "v"]], origin: {} });
    expect(shown).toMatch(/^"a\\nx{98}\u2026"$/);
  });
});
