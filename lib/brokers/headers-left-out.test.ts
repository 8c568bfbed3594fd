import { expect, test } from "vitest";
import type { SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { brokerRegistry } from "@/lib/brokers/registry";
import { systemClock } from "@/lib/platform/clock";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";

const brokers = brokerRegistry({ clock: systemClock, random: () => 0.5, secrets: { variables: {}, listed: [] } });
const headers: Header[] = [
  ["x-tenant", "eu"],
  ["my header", "a"],
  ["x-tenant", "us"],
  ["x-retry-count", "2"],
  ["x-redrive-id", "018f9c4e-1111-7000-8000-000000000001"],
];

test.each([
  ["pairs", []],
  ["object", ['"x-tenant" beside its last value']],
  ["other", ['"x-tenant"', '"my header"']],
])("what a send to an outbox leaves out of headers in the form %s", (headersShape, expected) => {
  const config = { kind: "outbox", config: {} } as unknown as SourceConfig;
  expect(brokers.leftOut(config, { headers, origin: { headersShape } })).toEqual(expected);
});

test.each<[SourceConfig["kind"], string[]]>([
  ["http", ['"my header"']],
  ["amqp10", ['"x-tenant" beside its first value']],
  ["celery", ['"x-tenant" beside its last value']],
  ["bullmq", ['"x-tenant"', '"my header"']],
  ["sidekiq", ['"x-tenant"', '"my header"']],
  // These carry all of them, or fail the send by the name of the header.
  ["rabbitmq", []],
  ["kafka", []],
  ["sqs", []],
  ["nats", []],
  ["pubsub", []],
  ["redis-stream", []],
  ["outbox", []],
])("what a send to %s leaves out", (kind, expected) => {
  expect(brokers.leftOut({ kind, config: {} } as SourceConfig, { headers, origin: {} })).toEqual(expected);
});
