import { describe, expect, it } from "vitest";
import { stripFailureHeaders } from "@/lib/brokers/conventions/strip";
import type { Header } from "@/lib/core/dead-letter";

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
