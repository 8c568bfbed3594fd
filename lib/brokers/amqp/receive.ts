import type { Message } from "amqplib";
import { receivedProperties } from "@/lib/brokers/amqp/exact-properties";
import { HeaderView } from "@/lib/brokers/conventions/delivery";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { RabbitmqConfig } from "@/lib/contract/source-config";
import type { DeadLetter } from "@/lib/core/dead-letter";

export type Received = {
  letter: DeadLetter;
  /** How often a quorum queue has handed it out before; 0 on other queues. */
  deliveryCount: number;
};

/** Reads a message from a hooked connection. Never throws: a message that cannot be parsed becomes a raw dead letter. */
export function receive(message: Message, config: RabbitmqConfig): Received {
  const properties = receivedProperties(message);
  const { exchange, routingKey } = message.fields;
  const headers = new HeaderView(properties.readable ? (properties.properties.headers ?? []) : []);
  return {
    letter: readDeadLetter(
      { exchange, routingKey, properties, body: message.content },
      { queue: config.queue, mapping: config.mapping ?? {} },
    ),
    deliveryCount: headers.count("x-delivery-count") ?? 0,
  };
}
