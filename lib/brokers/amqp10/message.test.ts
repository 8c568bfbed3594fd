import rhea from "rhea";
import { describe, expect, it } from "vitest";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { receive } from "@/lib/brokers/amqp10/message";
import { outboundOf } from "@/lib/brokers/amqp10/outbound";
import { readSections } from "@/lib/brokers/amqp10/sections";
import { type AmqpValue, encodeValue, fromHeader, readValue, toHeader } from "@/lib/brokers/amqp10/value";
import type { PublishError } from "@/lib/brokers/port";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const { types } = rhea;
const CONFIG: Amqp10Config = { url: "amqps://shop.servicebus.windows.net", address: "orders/$DeadLetterQueue" };

function read(message: object, address = CONFIG.address): DeadLetter {
  return receive(Buffer.from(rhea.message.encode(message as never)), { address }).letter;
}

function written(letter: DeadLetter, change: Partial<Amqp10Config> = {}, attempt = 1) {
  const stored = JSON.parse(JSON.stringify({ headers: letter.headers, origin: letter.origin }));
  const { eventId, payload, contentType } = letter;
  return outboundOf(
    outboundMessage({ eventId, payload, contentType, attempt, ...stored }),
    { ...CONFIG, ...change },
    "main",
  );
}

const VALUES: AmqpValue[] = [
  { type: "null" },
  { type: "boolean", value: false },
  { type: "ubyte", value: 255 },
  { type: "byte", value: -128 },
  { type: "ushort", value: 65_535 },
  { type: "short", value: -32_768 },
  { type: "uint", value: 4_294_967_295 },
  { type: "int", value: -2_147_483_648 },
  { type: "ulong", value: 2n ** 64n - 1n },
  { type: "long", value: -(2n ** 63n) },
  { type: "timestamp", value: 1_795_163_502_123n },
  { type: "float", value: Number.NEGATIVE_INFINITY },
  { type: "double", value: Number.NaN },
  { type: "double", value: -0 },
  { type: "char", value: 0x1f600 },
  { type: "uuid", value: "00112233-4455-6677-8899-aabbccddeeff" },
  { type: "symbol", value: "sym" },
  { type: "string", value: "é" },
  { type: "string", value: "with \u0000" },
  { type: "string", value: "x".repeat(300) },
  { type: "binary", value: Buffer.from([0, 255]) },
  { type: "decimal64", value: Buffer.from("2238000000000001", "hex") },
  { type: "encoded", value: Buffer.from("c1050261614101".replace("61614101", "a1016141"), "hex") },
];

describe("a value", () => {
  it.each(VALUES)("of type $type is the same after the store and on the wire again: $value", (value) => {
    const [name, text, encoding] = JSON.parse(JSON.stringify(toHeader("h", value))) as [string, string | null, "text"];
    const bytes = encodeValue(fromHeader([name, text, encoding]));
    expect(bytes.equals(encodeValue(value))).toBe(true);
    expect(readValue(bytes, 0).end).toBe(bytes.length);
  });

  it.each([
    ['{"!":"ubyte","value":256}', /not a ubyte/],
    ['{"!":"tabel","value":[]}', /not a value of AMQP 1.0/],
    ["{", /not a typed value/],
  ])("that a person wrote wrongly is refused: %s", (json, says) => {
    expect(() => fromHeader(["h", json, "amqp"])).toThrow(says);
  });
});

// As the documentation of Azure Service Bus and the source of its SDK for JavaScript (serviceBusMessage.ts) describe them:
// there is no server of it that tests could run.
const SERVICE_BUS = {
  durable: true,
  delivery_count: 10,
  message_annotations: {
    "x-opt-sequence-number": types.wrap_long(4_213),
    "x-opt-enqueued-time": types.wrap_timestamp(1_795_163_502_123),
    "x-opt-enqueue-sequence-number": types.wrap_long(9),
    "x-opt-partition-key": "o-1",
  },
  message_id: "m-1",
  group_id: "o-1",
  subject: "OrderPlaced",
  content_type: "application/json",
  absolute_expiry_time: new Date(1_795_163_502_123),
  application_properties: {
    DeadLetterReason: "MaxDeliveryCountExceeded",
    DeadLetterErrorDescription: "Message could not be consumed after 10 delivery attempts.",
    tenant: "eu",
  },
  body: rhea.message.data_section(Buffer.from('{"version":3}')),
};

describe("a dead letter of Azure Service Bus", () => {
  it("tells its queue, why it died and how often it was delivered", () => {
    expect(read(SERVICE_BUS)).toMatchObject({
      ...{ eventId: "m-1", aggregateId: "o-1", version: 3n, eventType: "OrderPlaced" },
      ...{ errorCode: "DELIVERY_LIMIT", attempts: 10 },
      error: { message: "Message could not be consumed after 10 delivery attempts." },
      origin: { convention: "service-bus", queue: "orders", messageGroup: "o-1" },
    });
  });

  it("has the application's own reason as its exception", () => {
    const application_properties = {
      DeadLetterReason: "System.TimeoutException",
      DeadLetterErrorDescription: "ledger",
    };
    const letter = read({ ...SERVICE_BUS, application_properties });
    expect(letter).toMatchObject({
      errorCode: "TIMEOUT",
      error: { type: "System.TimeoutException", message: "ledger" },
    });
  });

  it("goes back without reason, expiry and the broker's annotations, under an id that duplicate detection does not know", () => {
    const letter = read(SERVICE_BUS);
    const { to, bytes } = written(letter);
    expect(to).toBe("orders");
    const { properties, application, annotations } = readSections(bytes);
    expect(annotations).toEqual([["x-opt-partition-key", { type: "string", value: "o-1" }]]);
    const names = application.map(([name]) => name);
    const marks = ["id", "attempt", "from", "event-id", "origin"].map((mark) => `x-redrive-${mark}`);
    expect(names).toEqual(["tenant", ...marks]);
    expect(properties.absoluteExpiryTime).toBeUndefined();
    expect(properties.groupId).toEqual({ type: "string", value: "o-1" });
    const id = (attempt: number) => readSections(written(letter, {}, attempt).bytes).properties.messageId;
    expect(new Set([id(1), id(2)].map((value) => JSON.stringify(value))).size).toBe(2);
    expect(id(1)).not.toEqual({ type: "string", value: "m-1" });
    const kept = written(letter, { redriveTo: { messageId: "keep" } });
    expect(readSections(kept.bytes).properties.messageId).toEqual({ type: "string", value: "m-1" });
    // When it dies again it is the same event.
    expect(receive(bytes, CONFIG).letter).toMatchObject({ eventId: "m-1", redrive: { attempt: 1 } });
  });

  it("of a subscription asks where to send: its topic would deliver to every subscription", () => {
    const letter = read(SERVICE_BUS, "news/Subscriptions/billing/$DeadLetterQueue");
    expect(letter.origin).toMatchObject({ convention: "service-bus", subscription: "news/Subscriptions/billing" });
    let refused: PublishError | null = null;
    try {
      written(letter);
    } catch (error) {
      refused = error as PublishError;
    }
    expect(refused).toMatchObject({ code: "AMQP_NO_ORIGIN_QUEUE", sent: "no" });
    expect(refused!.message).toContain("every subscription");
    expect(written(letter, { redriveTo: { address: "billing" } }).to).toBe("billing");
  });

  it("that was forwarded names the entity it died in", () => {
    const message_annotations = { "x-opt-deadletter-source": "invoices" };
    expect(read({ ...SERVICE_BUS, message_annotations }, "all-dead").origin.queue).toBe("invoices");
  });
});

describe("a message that cannot be parsed", () => {
  it.each(["ff", "0053", "005373c0ff", "00537345"])("is parked with its bytes: %s", (hex) => {
    const bytes = Buffer.from(hex, "hex");
    const { letter } = receive(bytes, CONFIG);
    if (hex === "00537345") return expect(letter.payload.byteLength).toBe(0); // an empty list is one that can
    expect(letter.origin.convention).toBe("unreadable");
    expect(Buffer.from(letter.payload).equals(bytes)).toBe(true);
  });

  it("has one id, however often it is delivered", () => {
    const idOf = (delivery_count: number, body: string) => {
      const encoded = rhea.message.encode({
        delivery_count,
        delivery_annotations: { at: delivery_count },
        body,
      } as never);
      // Cut off in its last section.
      const { letter } = receive(Buffer.from(encoded).subarray(0, -1), CONFIG);
      expect(letter.origin.convention).toBe("unreadable");
      return letter.eventId;
    };
    expect(idOf(2, "one")).toBe(idOf(1, "one"));
    expect(idOf(1, "two")).not.toBe(idOf(1, "one"));
  });
});

describe("a message without an id", () => {
  const withCount = (delivery_count: number, change: object = {}) =>
    read({ ...SERVICE_BUS, message_id: undefined, delivery_count, ...change }).eventId;

  it("has one id, however often it is delivered", () => {
    expect(withCount(1)).toBe(withCount(10));
    expect(withCount(1)).not.toBe(withCount(1, { subject: "another" }));
  });
});
