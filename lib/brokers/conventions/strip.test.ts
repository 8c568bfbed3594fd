import { describe, expect, it, test } from "vitest";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { ORIGIN_BYTES_MAX, originText, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";

const ALWAYS = [
  "x-death",
  "x-first-death-queue",
  "x-first-death-reason",
  "x-last-death-exchange",
  "x-delivery-count",
  "x-acquired-count",
  "x-opt-deaths",
  "x-redrive-id",
  "X-Redrive-Attempt",
  "x-redrive-from",
  "x-redrive-event-id",
  "x-error-code",
  "x-error-message",
  "x-error-stack",
];
const KEPT = [
  "__TypeId__",
  "traceparent",
  "cloudEvents:id",
  "content-type",
  "exception-type",
  "failed-at",
  "original-topic",
  "source_topic",
  "error-code",
  "NServiceBus.EnclosedMessageTypes",
  "NServiceBus.MessageId",
  "MT-MessageType",
  "NServiceBus.MessageId",
  "task",
];
const OWNED: Record<string, string[]> = {
  "spring-amqp": ["x-exception-stacktrace", "x-exception-message", "x-original-exchange", "x-original-routingKey"],
  "spring-cloud-stream": ["x-exception-message", "x-original-routingKey", "retry-count"],
  masstransit: [
    "MT-Reason",
    "MT-Fault-ExceptionType",
    "MT-Fault-RetryCount",
    "MT-Host-MachineName",
    "MT-Redelivery-Count",
  ],
  nservicebus: [
    "NServiceBus.FailedQ",
    "NServiceBus.TimeOfFailure",
    "NServiceBus.ExceptionInfo.Message",
    "NServiceBus.Retries",
  ],
};

const named = (names: string[]): Header[] => names.map((name) => [name, "v"]);

describe("stripFailureHeaders", () => {
  it.each(["rabbitmq-x-death", "generic", undefined, "not-a-convention", ...Object.keys(OWNED)])(
    "always drops the broker's and Parkade's own records, and keeps the application's (%s)",
    (convention) => {
      expect(stripFailureHeaders(named([...ALWAYS, ...KEPT]), convention)).toEqual(named(KEPT));
    },
  );

  it.each(Object.entries(OWNED))("drops what %s added, and only when it was the one", (convention, names) => {
    expect(stripFailureHeaders(named(names), convention)).toEqual([]);
    expect(stripFailureHeaders(named(names), "rabbitmq-x-death")).toEqual(named(names));
  });

  it.each(["ce_", "ce-", "cloudEvents:", "cloudEvents_"])(
    "drops why a CloudEvent failed, and no other attribute (%s)",
    (prefix) => {
      const attributes = (names: string[]) => named(names.map((name) => prefix + name));
      const failure = attributes(["errorcode", "knativeerrordest", "knativeerrorcode", "knativeerrordata"]);
      const kept = attributes(["id", "source", "knativebrokerttl", "errorcodes"]);
      expect(stripFailureHeaders([...failure, ...kept], "generic")).toEqual(kept);
    },
  );

  it("keeps order, duplicates and types of what stays", () => {
    const headers: Header[] = [
      ["b", "1"],
      ["x-death", "[]", "amqp"],
      ["a", '{"!":"int8","value":1}', "amqp"],
      ["b", null],
    ];
    expect(stripFailureHeaders(headers, "rabbitmq-x-death")).toEqual([headers[0], headers[2], headers[3]]);
  });
});

test.each<[string, Origin, string | undefined]>([
  ["Kafka", { topic: "orders", partition: 0, offset: "330" }, "orders/0/330"],
  ["Kafka, whose dead letter names no record", { topic: "orders" }, "orders"],
  ["Celery, and a queue's message without an id", { queue: "orders", deadLetter: { queue: "dlq" } }, "orders"],
  ["RabbitMQ", { queue: "orders", exchange: "shop", properties: { messageId: "m-17" } }, "orders/m-17"],
  ["SQS", { queue: "orders", properties: { MessageId: "0a-1" } }, "orders/0a-1"],
  ["BullMQ", { queue: "orders", job: { id: "17", name: "charge" } }, "orders/17"],
  [
    "NATS",
    { stream: "ORDERS", streamSequence: "17", deadLetter: { stream: "ADVISORIES", sequence: "4" } },
    "ORDERS/17",
  ],
  ["Redis, pending", { stream: "orders", deadLetter: { stream: "orders", id: "17-0" } }, "orders/17-0"],
  ["Redis, a stream of dead letters", { stream: "orders", deadLetter: { stream: "dead", id: "18-0" } }, "orders"],
  ["Pub/Sub", { subscription: "projects/p/subscriptions/orders" }, "projects/p/subscriptions/orders"],
  ["an outbox", { table: "outbox", rowId: "7" }, "outbox/7"],
  ["parts of a wrong type", { topic: "orders", partition: { n: 1 } as never, offset: null as never }, "orders"],
  ["nothing of it is right", { queue: 7 as never, properties: "x" as never, job: null, deadLetter: "y" }, undefined],
  ["line ends, controls, lone halves", { queue: "a\r\nb: c\u0000\ud800" }, "a%0D%0Ab: c%00\ufffd"],
  ["invisible and right-to-left characters", { queue: "o\u202er\u200bd" }, "o%E2%80%AEr%E2%80%8Bd"],
  ["text beyond ASCII", { topic: "заказы", partition: 1 }, "заказы/1"],
  ["a message that does not say", { deadLetter: { queue: "dlq" } }, undefined],
])("a message goes back with its origin, for tracing: %s", (_, origin, expected) => {
  const marks = redriveMarks({ redriveId: "r", attempt: 1, from: "orders", eventId: "e", origin });
  expect(marks["x-redrive-origin"]).toBe(expected);
});

test.each(["x", "ж", "😀"])("an origin of %s without end is cut at a character, and says so", (character) => {
  const text = originText({ queue: character.repeat(20_000) })!;
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ORIGIN_BYTES_MAX);
  expect(Buffer.byteLength(text)).toBeGreaterThan(ORIGIN_BYTES_MAX - 4);
  expect(text).toMatch(new RegExp(`^${character}+\\.\\.\\.\\(cut\\)$`, "u"));
});
