import { describe, expect, test } from "vitest";
import { type Arrival, readOrReject } from "@/lib/intake/arrival.shapes";
import {
  type CloudEventOptions,
  decodeHeader,
  encodeHeader,
  readBinary,
  readStructured,
} from "@/lib/intake/cloudevents.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const options: CloudEventOptions = { payloadBytesMax: 500, headersMax: 20, source: null, errorCode: null };
const attributes = {
  specversion: "1.0",
  id: "ce-1",
  source: "/shop/orders",
  type: "order.created",
  errorcode: "TIMEOUT",
};

function structured(document: Record<string, unknown> | string, more: Partial<CloudEventOptions> = {}) {
  const bytes = new TextEncoder().encode(typeof document === "string" ? document : JSON.stringify(document));
  return readStructured(bytes, { start: 0, end: bytes.length }, { ...options, ...more });
}

function binary(more: Record<string, string>, body = "{}", also: Partial<CloudEventOptions> = {}) {
  const headers = new Headers(
    Object.entries(attributes).map(([name, value]): [string, string] => [`ce-${name}`, value]),
  );
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return readBinary(headers, new TextEncoder().encode(body), { ...options, ...also });
}

function rejection(read: () => Arrival) {
  const result = readOrReject(read);
  return "rejection" in result ? result.rejection : null;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("a structured CloudEvent", () => {
  test("maps attributes to facts and keeps the rest as binary-mode headers", () => {
    const { source, letter } = structured({
      ...attributes,
      subject: "order-9",
      aggregateid: "order-77",
      aggregatetype: "order",
      aggregateversion: "9007199254740993",
      attempts: 4,
      errormessage: "no answer",
      failedat: "2026-11-19T10:00:00Z",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      tenant: "acme corp",
      data: { total: 1 },
    });
    expect(source).toBe("/shop/orders");
    expect(letter).toMatchObject({
      eventId: "ce-1",
      producer: "/shop/orders",
      eventType: "order.created",
      aggregateId: "order-77",
      aggregateType: "order",
      version: 9007199254740993n,
      attempts: 4,
      errorCode: "TIMEOUT",
      error: { message: "no answer" },
      failedAtMs: Date.parse("2026-11-19T10:00:00Z"),
      traceId: "0af7651916cd43dd8448eb211c80319c",
      contentType: "application/json",
    });
    const names = letter.headers.map(([name]) => name);
    expect(names).toContain("ce-id");
    expect(names).not.toContain("ce-errorcode");
    expect(letter.headers.find(([name]) => name === "ce-tenant")?.[1]).toBe("acme%20corp");
  });

  test("keeps JSON data byte for byte", () => {
    const head = JSON.stringify(attributes).slice(0, -1);
    expect(text(structured(`${head},"data": {"n": 12345678901234567890} }`).letter.payload)).toBe(
      '{"n": 12345678901234567890}',
    );
  });

  test("takes text of another media type as the text itself, base64 as bytes, and none as empty", () => {
    const xml = structured({ ...attributes, datacontenttype: "application/xml", data: "<a>\u00e9</a>" }).letter;
    expect([text(xml.payload), xml.contentType]).toEqual(["<a>\u00e9</a>", "application/xml"]);
    expect([...structured({ ...attributes, data_base64: "AP8=" }).letter.payload]).toEqual([0, 255]);
    expect(structured(attributes).letter.payload.byteLength).toBe(0);
    expect(text(structured({ ...attributes, datacontenttype: "text/json", data: "x" }).letter.payload)).toBe('"x"');
  });

  test("falls back to partitionkey, then subject, for the aggregate", () => {
    expect(structured({ ...attributes, subject: "s", partitionkey: "p" }).letter.aggregateId).toBe("p");
    expect(structured({ ...attributes, subject: "s" }).letter.aggregateId).toBe("s");
  });

  test("belongs to the request's source, else to parkadesource", () => {
    expect(structured({ ...attributes, parkadesource: "orders" }).source).toBe("orders");
    expect(structured({ ...attributes, parkadesource: "orders" }, { source: "billing" }).source).toBe("billing");
  });

  test.each([
    ["2026-11-19 10:00:00,5+00", Date.parse("2026-11-19T10:00:00.500Z"), undefined],
    [1_795_082_400.5, 1_795_082_400_500, undefined],
    ["yesterday", null, { failedAt: "yesterday" }],
    [{ seconds: 1 }, null, { failedAt: '{"seconds":1}' }],
  ])("is taken with any time, and says which it did not read: %j", (failedat, failedAtMs, unread) => {
    const { letter, unread: said } = structured({ ...attributes, failedat, time: "soon" });
    expect([letter.failedAtMs, letter.origin.unread, said]).toEqual([failedAtMs, unread, unread]);
  });

  test.each([
    ["another version", { specversion: "0.3" }, "specversion"],
    ["no id", { id: undefined }, "id"],
    ["an empty type", { type: "" }, "type"],
    ["no source", { source: undefined }, "source"],
    ["an attribute name in capitals", { errorCode: "X" }, "errorCode"],
    ["an object as attribute", { tenant: {} }, "tenant"],
    ["a fraction as attribute", { tenant: 1.5 }, "tenant"],
    ["a version that is none", { aggregateversion: "v3" }, "aggregateversion"],
    ["both kinds of data", { data: 1, data_base64: "AA==" }, "data"],
    ["broken base64", { data_base64: "A" }, "data_base64"],
    ["a NUL", { tenant: "a\0" }, "tenant"],
  ])("is refused with %s", (_, change, field) => {
    expect(rejection(() => structured({ ...attributes, ...change }))).toMatchObject({
      code: "invalid-cloudevent",
      field,
    });
  });

  test("is read leniently where a producer counts in numbers or does not write a URI", () => {
    const { source, letter } = structured({ ...attributes, id: 7, source: "a b", sequence: 2 ** 40 });
    expect([letter.eventId, source]).toEqual(["7", "a b"]);
    expect(letter.headers).toContainEqual(["ce-sequence", "1099511627776"]);
    expect(letter.headers).toContainEqual(["ce-source", "a%20b"]);
  });

  test("is refused when its data is too large", () => {
    expect(rejection(() => structured({ ...attributes, data: "x".repeat(600) }))?.code).toBe("payload-too-large");
  });
});

describe("a CloudEvent of a dead letter sink", () => {
  const knative = {
    errorcode: undefined,
    knativeerrordest: "http://ledger.default.svc.cluster.local/",
    knativeerrorcode: 500,
    knativeerrordata: "bm8gcHJpY2U=",
  };

  test("says why by the attributes of Knative, which a redrive leaves out", () => {
    const { letter } = structured({ ...attributes, ...knative, knativebrokerttl: 255 });
    expect([letter.errorCode, letter.error.message]).toEqual(["HTTP_500", "no price"]);
    expect(letter.origin.properties).toMatchObject({ knativeerrordest: knative.knativeerrordest });
    const names = letter.headers.map(([name]) => name);
    expect(names.filter((name) => name.startsWith("ce-knative"))).toEqual(["ce-knativebrokerttl"]);
  });

  test.each([
    ["text that is not base64", "Internal Server Error: no price", "Internal Server Error: no price"],
    ["one word, which is base64 as well", "Conflict", "Conflict"],
    ["base64 that was cut within a character", "w7zDvMM=", "üü"],
    ["base64 of bytes", "AP8=", "AP8="],
    ["nothing", "", "HTTP 500: http://ledger.default.svc.cluster.local/"],
  ])("reads the answer that Knative got: %s", (_, knativeerrordata, message) => {
    expect(structured({ ...attributes, ...knative, knativeerrordata }).letter.error.message).toBe(message);
  });

  test("is cut where the answer is longer than a message may be", () => {
    const long = { ...attributes, ...knative, knativeerrordata: "no price ".repeat(8_000) };
    expect(structured(long).letter.error.message).toHaveLength(TEXT_MAX.errorMessage);
  });

  test.each([
    ["its own code", { ...knative, errorcode: "OURS" }, "QUERY", "OURS"],
    ["Knative's status before the code of the request", knative, "QUERY", "HTTP_500"],
    ["a word that is no status", { ...knative, knativeerrorcode: "DEADLINE" }, "QUERY", "DEADLINE"],
    ["the code of the request", { errorcode: undefined }, "QUERY", "QUERY"],
    ["a plain one", { errorcode: undefined }, null, "UNKNOWN"],
    ["a plain one for an empty code", { errorcode: "" }, null, "UNKNOWN"],
  ])("has as its error code %s", (_, change, errorCode, expected) => {
    expect(structured({ ...attributes, ...change }, { errorCode }).letter.errorCode).toBe(expected);
  });
});

describe("a binary CloudEvent", () => {
  test("takes attributes from percent-encoded headers and the body as it is", () => {
    const { letter } = binary(
      { "content-type": "text/csv", "ce-subject": "Euro%20%E2%82%AC", "ce-note": "100%" },
      "a,b\n",
    );
    expect(letter.aggregateId).toBe("Euro \u20ac");
    expect([letter.contentType, text(letter.payload)]).toEqual(["text/csv", "a,b\n"]);
    expect(letter.headers.find(([name]) => name === "ce-subject")?.[1]).toBe("Euro%20%E2%82%AC");
    expect(letter.headers.find(([name]) => name === "ce-note")?.[1]).toBe("100%25");
  });

  test("recognises what Parkade sent by the header it put on it", () => {
    const { letter } = binary({ "x-redrive-id": "018f9c4e-0000-7000-8000-000000000001", "x-redrive-attempt": "3" });
    expect(letter.redrive).toEqual({ redriveId: "018f9c4e-0000-7000-8000-000000000001", attempt: 3 });
  });

  test("is refused when an escape is no UTF-8", () => {
    expect(rejection(() => binary({ "ce-subject": "%ff" }))).toMatchObject({
      code: "invalid-cloudevent",
      field: "ce-subject",
    });
  });

  test("encodes what it decodes", () => {
    for (const value of ['say "hi"', "100%", "\u20ac uro", "plain", "\u{1f600}"]) {
      expect(decodeHeader("x", encodeHeader(value))).toBe(value);
    }
    expect(decodeHeader("x", String.raw`"quo\"ted"`)).toBe('quo"ted');
  });
});
