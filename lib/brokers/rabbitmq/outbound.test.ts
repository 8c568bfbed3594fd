import { describe, expect, it } from "vitest";
import type { OutboundMessage } from "@/lib/brokers/port";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { outboundOf } from "@/lib/brokers/rabbitmq/outbound";

const CONFIG: RabbitmqConfig = { url: "amqp://rabbit.example", queue: "orders.dlq" };

function message(change: Partial<OutboundMessage> = {}): OutboundMessage {
  return {
    eventId: "evt-9",
    payload: Buffer.from("{}"),
    contentType: "application/json",
    headers: [],
    origin: { queue: "orders" },
    idempotencyKey: "shop:evt-9",
    redriveId: "018f9c4e-1111-7000-8000-000000000001",
    attempt: 2,
    from: "shop",
    traceId: null,
    ...change,
  };
}

const namesOf = (change: Partial<OutboundMessage>, config: Partial<RabbitmqConfig> = {}) =>
  outboundOf(message(change), { ...CONFIG, ...config }, "main")
    .properties.headers!.map(([name]) => name)
    .filter((name) => !name.startsWith("x-redrive-"));

describe("outboundOf", () => {
  it.each<[string, Partial<RabbitmqConfig>, "main" | "slow", { exchange: string; routingKey: string }]>([
    ["the origin queue", {}, "main", { exchange: "", routingKey: "orders" }],
    [
      "the configured queue",
      { redriveTo: { mode: "origin-queue", queue: "q2" } },
      "main",
      { exchange: "", routingKey: "q2" },
    ],
    ["the slow lane's queue", { slowLaneQueue: "slow" }, "slow", { exchange: "", routingKey: "slow" }],
    ["the main destination when there is no slow one", {}, "slow", { exchange: "", routingKey: "orders" }],
    [
      "the main queue although there is a slow one",
      { slowLaneQueue: "slow" },
      "main",
      { exchange: "", routingKey: "orders" },
    ],
    ["the origin exchange", { redriveTo: { mode: "exchange" } }, "main", { exchange: "x", routingKey: "k" }],
    [
      "the configured exchange and key",
      { redriveTo: { mode: "exchange", exchange: "y", routingKey: "j" } },
      "main",
      { exchange: "y", routingKey: "j" },
    ],
  ])("addresses %s", (_, config, lane, to) => {
    const origin = { queue: "orders", exchange: "x", routingKeys: ["k"] };
    expect(outboundOf(message({ origin }), { ...CONFIG, ...config }, lane).to).toEqual(to);
  });

  it.each<[string, OutboundMessage["headers"], number | undefined, unknown]>([
    ["nothing when nothing was repeated", [], 0, []],
    ["nothing when nobody counted", [], undefined, []],
    ["the count as text", [], 3, [["x-retry-count", { type: "longstr", value: "3" }]]],
    [
      "the count in place of the parked one, as the integer it was",
      [["X-Retry-Count", '{"!":"int32","value":2}', "amqp"]],
      3,
      [["X-Retry-Count", { type: "int32", value: 3 }]],
    ],
    [
      "a count that outgrew its type as a wider one",
      [["x-retry-count", '{"!":"int8","value":127}', "amqp"]],
      128,
      [["x-retry-count", { type: "int32", value: 128 }]],
    ],
    [
      "a wide integer as one",
      [["x-retry-count", '{"!":"int64","value":2}', "amqp"]],
      3,
      [["x-retry-count", { type: "int64", value: 3n }]],
    ],
    [
      "the parked count untouched when nothing was repeated",
      [["x-retry-count", "0"]],
      0,
      [["x-retry-count", { type: "longstr", value: "0" }]],
    ],
  ])("passes on %s", (_, headers, retryCount, expected) => {
    const sent = outboundOf(message({ headers, retryCount }), CONFIG, "main").properties.headers!;
    expect(sent.filter(([name]) => name.toLowerCase() === "x-retry-count")).toEqual(expected);
  });

  it("marks the redrive with plain text", () => {
    const { headers } = outboundOf(message(), CONFIG, "main").properties;
    expect(headers).toEqual([
      ["x-redrive-id", { type: "longstr", value: "018f9c4e-1111-7000-8000-000000000001" }],
      ["x-redrive-attempt", { type: "longstr", value: "2" }],
      ["x-redrive-from", { type: "longstr", value: "shop" }],
      ["x-redrive-event-id", { type: "longstr", value: "evt-9" }],
      ["x-redrive-origin", { type: "longstr", value: "orders" }],
    ]);
  });

  it("restores what the broker will take, persistent, and drops what would harm", () => {
    const properties = {
      contentType: "text/xml",
      deliveryMode: 1,
      priority: 9,
      replyTo: "amq.rabbitmq.reply-to.g1h2",
      expiration: "1",
      messageId: { base64: "/w==" },
      timestamp: "18446744073709551615",
      userId: "alice",
      clusterId: "c",
    };
    const { headers: _, ...restored } = outboundOf(
      message({ origin: { queue: "q", properties } }),
      CONFIG,
      "main",
    ).properties;
    expect(Object.fromEntries(Object.entries(restored).filter(([, value]) => value !== undefined))).toEqual({
      contentType: "application/json",
      deliveryMode: 2,
      priority: 9,
      messageId: { base64: "/w==" },
      timestamp: 18446744073709551615n,
    });
  });

  it.each([
    ["application/json", undefined],
    ["text/plain", "text/plain"],
  ])("sends an assumed content type only once a person has changed it: %s", (contentType, sent) => {
    const origin = { queue: "q", contentTypeAssumed: "application/json" };
    expect(outboundOf(message({ contentType, origin }), CONFIG, "main").properties.contentType).toBe(sent);
  });

  it("never routes by the CC of the first publish, except through its exchange", () => {
    const headers: OutboundMessage["headers"] = [
      ["CC", '["a"]', "amqp"],
      ["BCC", '["b"]', "amqp"],
      ["kept", "1"],
    ];
    const origin = { queue: "q", exchange: "x", routingKeys: ["k", "l"] };
    expect(namesOf({ headers, origin })).toEqual(["kept"]);
    expect(namesOf({ headers, origin }, { redriveTo: { mode: "exchange" } })).toEqual(["CC", "BCC", "kept"]);
    expect(namesOf({ headers: [], origin }, { redriveTo: { mode: "exchange" } })).toEqual(["CC"]);
    expect(namesOf({ headers: [], origin }, { redriveTo: { mode: "exchange", routingKey: "z" } })).toEqual([]);
    expect(namesOf({ headers, origin }, { redriveTo: { mode: "exchange", exchange: "" } })).toEqual(["kept"]);
  });
});
