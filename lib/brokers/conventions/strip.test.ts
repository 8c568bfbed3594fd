import { describe, expect, it, test } from "vitest";
import { redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import { stripFailureHeaders } from "@/lib/brokers/conventions/strip";
import type { Header, Origin } from "@/lib/intake/dead-letter.pure";

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
  "rbs2-msg-id",
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
  rebus: ["rbs2-error-details", "rbs2-source-queue"],
};

const named = (names: string[]): Header[] => names.map((name) => [name, "v"]);

describe("stripFailureHeaders", () => {
  it.each(["rabbitmq-x-death", "generic", "easynetq", undefined, "not-a-convention", ...Object.keys(OWNED)])(
    "always drops the broker's and Parkade's own records, and keeps the application's (%s)",
    (convention) => {
      expect(stripFailureHeaders(named([...ALWAYS, ...KEPT]), convention)).toEqual(named(KEPT));
    },
  );

  it.each(Object.entries(OWNED))("drops what %s added, and only when it was the one", (convention, names) => {
    expect(stripFailureHeaders(named(names), convention)).toEqual([]);
    expect(stripFailureHeaders(named(names), "rabbitmq-x-death")).toEqual(named(names));
  });

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
  ["RabbitMQ, SQS, BullMQ, Celery", { queue: "orders", exchange: "shop", deadLetter: { queue: "dlq" } }, "orders"],
  [
    "NATS",
    { stream: "ORDERS", streamSequence: "17", deadLetter: { stream: "ADVISORIES", sequence: "4" } },
    "ORDERS/17",
  ],
  ["Redis, pending", { stream: "orders", deadLetter: { stream: "orders", id: "17-0" } }, "orders/17-0"],
  ["Redis, a stream of dead letters", { stream: "orders", deadLetter: { stream: "dead", id: "18-0" } }, "orders"],
  ["Pub/Sub", { subscription: "projects/p/subscriptions/orders" }, "projects/p/subscriptions/orders"],
  ["an outbox", { table: "outbox", rowId: "7" }, "outbox/7"],
  ["a message that does not say", { deadLetter: { queue: "dlq" } }, undefined],
])("a message goes back with its origin, for tracing: %s", (_, origin, expected) => {
  const marks = redriveMarks({ redriveId: "r", attempt: 1, from: "orders", eventId: "e", origin });
  expect(marks["x-redrive-origin"]).toBe(expected);
});
