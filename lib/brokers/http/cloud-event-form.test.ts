import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { asCloudEvent } from "@/lib/brokers/http/cloud-event-form";
import type { OutboundMessage } from "@/lib/brokers/port";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import { readBinary, readStructured } from "@/lib/intake/cloudevents.shapes";
import { formOf, formWords } from "@/lib/sources/schemas/body-form.pure";

const options = { payloadBytesMax: 1_000_000, headersMax: 50, source: null, errorCode: null };
const ERROR = ["ce-errorcode", "TIMEOUT"] as const; // what a consumer adds when it parks the event again

function binary(change: Partial<OutboundMessage>) {
  const { headers, payload, contentType } = asCloudEvent(outboundMessage(change), "cloudevents-binary");
  const sent = new Headers([...headers.map(([name, value]): [string, string] => [name, value!]), [...ERROR]]);
  sent.set("content-type", contentType);
  return { headers, letter: readBinary(sent, payload, options).letter, source: sent.get("ce-source") };
}

function structured(change: Partial<OutboundMessage>) {
  const { contentType, payload } = asCloudEvent(outboundMessage(change), "cloudevents-structured");
  expect(contentType).toBe("application/cloudevents+json");
  const text = Buffer.from(payload).toString();
  const failed = Buffer.from(text.replace(/^\{/, '{"errorcode":"TIMEOUT",'));
  const { letter } = readStructured(failed, { start: 0, end: failed.length }, options);
  return { text, letter, event: JSON.parse(text) as Record<string, unknown> };
}

const event = { eventId: "e-1", from: "orders eu", eventType: "OrderPlaced", aggregateId: "o/7 é" };
const carried: OutboundMessage["headers"] = [
  ["ce-specversion", "1.0"],
  ["ce-id", "ce%20id"],
  ["ce-source", "/shop"],
  ["ce-type", "order.created"],
  ["ce-sequence", "000007"],
  ["x-tenant", "eu"],
];

describe("asCloudEvent", () => {
  it("makes an event of what is known of a message that is none", () => {
    const { letter, source } = binary(event);
    expect(letter).toMatchObject({ eventId: "e-1", eventType: "OrderPlaced", aggregateId: "o/7 é" });
    expect(source).toBe("orders%2520eu"); // a URI reference, percent-encoded once more by the binding
    const made = structured(event);
    expect(made.letter).toMatchObject({ eventId: "e-1", eventType: "OrderPlaced", aggregateId: "o/7 é" });
    expect(made.event).toMatchObject({ specversion: "1.0", source: "orders%20eu" });
    expect(structured({ eventType: null }).event.type).toBe("unknown");
  });

  it.each([
    ["HTTP", carried],
    ["Kafka", carried.map(([name, value]) => [name.replace("ce-", "ce_"), value!.replace("%20", " ")])],
    ["AMQP", carried.map(([name, value]) => [name.replace("ce-", "cloudEvents:"), value!.replace("%20", " ")])],
  ] as [string, OutboundMessage["headers"]][])("leaves the attributes of an event of %s as they are", (_, headers) => {
    for (const { letter } of [binary({ ...event, headers }), structured({ ...event, headers })]) {
      expect(letter).toMatchObject({ eventId: "ce id", eventType: "order.created", aggregateId: null });
      expect(letter.headers).toContainEqual(["ce-sequence", "000007"]);
    }
    expect(binary({ headers }).headers).toContainEqual(["x-tenant", "eu"]);
  });

  it.each<[string, Partial<OutboundMessage>]>([
    ["JSON, digit for digit", { payload: Buffer.from('{"n": 12345678901234567890,"n":1}') }],
    ["text", { payload: Buffer.from('a "b" é'), contentType: "text/plain" }],
    ["bytes", { payload: Buffer.from([0, 255, 1]), contentType: "application/octet-stream" }],
    ["JSON that is none", { payload: Buffer.from("{"), contentType: "application/json" }],
    ["no JSON of a JSON type, as bytes", { payload: Buffer.from([0xff]), contentType: "application/json" }],
  ])("brings the payload through: %s", (_, change) => {
    const message = outboundMessage(change);
    for (const { letter } of [binary(message), structured(message)]) {
      expect(Buffer.from(letter.payload)).toEqual(Buffer.from(message.payload));
      expect(letter.contentType).toBe(message.contentType);
    }
  });

  it("sends no data where none came", () => {
    const none = { payload: Buffer.alloc(0), contentType: "application/json" };
    expect(structured(none).event).not.toHaveProperty("data_base64");
    expect(structured(none).event).not.toHaveProperty("data");
    expect(structured({ ...none, contentType: "text/plain" }).event.data).toBe("");
  });

  it("says of the data alone that it is encoded", () => {
    const payload = gzipSync('{"n":1}');
    const headers: OutboundMessage["headers"] = [
      ["Content-Encoding", "gzip"],
      ["x-tenant", "eu"],
    ];
    const made = asCloudEvent(outboundMessage({ payload, headers }), "cloudevents-structured");
    expect(made.headers).toEqual([["x-tenant", "eu"]]);
    const { event: sent, letter } = structured({ payload, headers });
    expect(sent).toMatchObject({ contentencoding: "gzip", data_base64: payload.toString("base64") });
    expect(formWords(formOf(letter))).toBe("gzip");
  });

  it("leaves a structured event alone", () => {
    const message = outboundMessage({ contentType: "application/cloudevents+json; charset=utf-8" });
    expect(asCloudEvent(message, "cloudevents-binary")).toBe(message);
  });
});
