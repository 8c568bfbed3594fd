import { expect, test } from "vitest";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { mapSample, sampleOf } from "@/lib/brokers/probe-sample";
import { amqpMessage } from "@/lib/brokers/rabbitmq/message";
import { SAMPLE_CHARS_MAX } from "@/lib/brokers/source-limits.pure";
import { deadLetter } from "@/lib/testing/letters";

const letterOf = (mapping: Mapping) => {
  const properties = {
    correlationId: "c-7",
    headers: [
      ["x-error-code", { type: "longstr", value: "TIMEOUT" }],
      ["x-version", { type: "int32", value: 12 }],
      ["x-blank", { type: "longstr", value: "  " }],
    ],
  };
  const body = Buffer.from('{"order":{"id":"order-77","total":9007199254740993},"aggregateId":"a-1","version":3}');
  const place = { container: "orders.dlq", deadLetter: { queue: "orders.dlq", routingKey: "orders.created" } };
  return readDeadLetter(amqpMessage({ properties: properties as never, body }, place), mapping);
};

test.each([
  [{}],
  [{ aggregateId: "/order/id", tags: { total: "/order/total", none: "/nowhere" } }],
  [{ eventId: "property:correlationId", eventType: "property:routingKey", aggregateType: "property:queue" }],
  [{ errorCode: "X-Error-Code", version: "x-version", aggregateType: "x-blank" }],
  [{ version: "x-error-code" }],
] as [Mapping][])("a mapping on a sample finds what it finds in the message: %o", (mapping) => {
  const sampled = mapSample(sampleOf(letterOf({})), mapping);
  const { eventId, aggregateType, aggregateId, version, eventType, errorCode, tags } = letterOf(mapping);
  // RabbitMQ offers the exchange and the routing key of the place where it was read, and not the queue.
  const type = mapping.aggregateType === "property:queue" ? "orders.dlq" : aggregateType;
  expect(sampled).toEqual({
    eventId,
    aggregateType: type,
    aggregateId,
    version: version === null ? null : String(version),
    eventType,
    errorCode,
    tags,
  });
});

test("a sample holds no payload that is too long or no text", () => {
  const long = sampleOf(deadLetter({ payload: Buffer.alloc(SAMPLE_CHARS_MAX + 1, 97) }));
  const binary = sampleOf(deadLetter({ payload: Buffer.from([0xff, 0xfe]) }));
  expect([long.message.payload, binary.message.payload]).toEqual([null, null]);
  expect(mapSample(long, { aggregateId: "/order/id" }).aggregateId).toBe("order-77");
});
