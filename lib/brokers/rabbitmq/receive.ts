import type { Message as AmqpDelivery } from "amqplib";
import { readDeadLetter, unreadable } from "@/lib/brokers/conventions/read-dead-letter";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { type ReceivedProperties, receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { amqpMessage, hashId, headerViewOf } from "@/lib/brokers/rabbitmq/message";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

/** A delivery of a queue. `exchange` and `routingKey`: how it reached the queue, not how it was first published. */
type Delivery = {
  exchange: string;
  routingKey: string;
  properties: ReceivedProperties;
  body: Uint8Array;
};

/** A message whose property list does not parse is parked raw, with that list in `origin.rawProperties` (base64). */
export function letterOf(delivery: Delivery, queue: string, mapping: Mapping): DeadLetter {
  const { exchange, routingKey, properties, body } = delivery;
  const deadLetter = { queue, exchange, routingKey };
  if (properties.readable) {
    const letter = readDeadLetter(
      amqpMessage({ properties: properties.properties, body }, { container: queue, deadLetter }),
      mapping,
    );
    return letter;
  }
  const { raw, problem } = properties;
  return unreadable({
    body,
    headers: [],
    origin: { deadLetter, properties: {}, rawProperties: raw.toString("base64") },
    ownId: () => hashId(delivery, raw, body),
    problem,
  });
}

type Received = {
  letter: DeadLetter;
  /** How often a quorum queue has handed it out before; 0 on other queues. */
  deliveryCount: number;
};

/** Reads a message from a hooked connection. Never throws: a message that cannot be parsed becomes a raw dead letter. */
export function receive(
  message: AmqpDelivery,
  { queue, mapping = {} }: Pick<RabbitmqConfig, "queue" | "mapping">,
): Received {
  const properties = receivedProperties(message);
  const { exchange, routingKey } = message.fields;
  const table = properties.readable ? (properties.properties.headers ?? []) : [];
  return {
    letter: letterOf({ exchange, routingKey, properties, body: message.content }, queue, mapping),
    deliveryCount: headerViewOf(table.filter(([name]) => name === "x-delivery-count")).count("x-delivery-count") ?? 0,
  };
}
