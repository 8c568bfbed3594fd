import type { Channel, ConsumeMessage } from "amqplib";
import type { BasicProperties } from "@/lib/brokers/rabbitmq/basic-properties";
import { keepExactProperties, publishExact, receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import type { TestRabbitmq } from "@/lib/testing/rabbitmq";

/** One delivery to the consumer, with its properties exactly as on the wire. */
export type Consumed = { messageId: string; properties: BasicProperties; body: Buffer };

export type WorkQueue = {
  queue: string;
  dlq: string;
  /** Resolves when the broker has confirmed all of them, in order. */
  publish(messages: { properties: BasicProperties; body: Buffer }[]): Promise<void>;
  /** Every delivery so far, oldest first. */
  consumed: Consumed[];
  /** Decides each delivery: false = nack, so that the broker delivers again until its limit and then dead-letters. */
  handles: (delivery: Consumed) => boolean;
  close(): Promise<void>;
};

/** Maximum rejected deliveries of one message before the broker dead-letters it. */
export const DELIVERY_LIMIT = 2;

/**
 * A typical work queue: a quorum queue with a delivery limit, whose dead letters go through an exchange to a
 * dead-letter queue, and a consumer that acknowledges the messages that it handled and rejects the others. Its dead
 * letters end in the dead-letter queue of `deadLettersOf`, or in one of its own.
 */
export async function openWorkQueue(rabbit: TestRabbitmq, name: string, deadLettersOf = name): Promise<WorkQueue> {
  const [queue, dlq, exchange] = [name, `${deadLettersOf}.dlq`, `${deadLettersOf}.dlx`];
  const connection = await rabbit.connect();
  keepExactProperties(connection);
  const producer = await connection.createConfirmChannel();
  await producer.assertExchange(exchange, "fanout", { durable: true });
  await producer.assertQueue(dlq, { durable: true });
  await producer.bindQueue(dlq, exchange, "");
  await producer.assertQueue(queue, {
    durable: true,
    arguments: {
      "x-queue-type": "quorum",
      "x-delivery-limit": DELIVERY_LIMIT,
      "x-dead-letter-exchange": exchange,
    },
  });
  const channel: Channel = await connection.createChannel();
  await channel.prefetch(10);
  const work: WorkQueue = {
    queue,
    dlq,
    consumed: [],
    handles: () => true,
    publish: (messages) =>
      Promise.all(
        messages.map(
          ({ properties, body }) =>
            new Promise<void>((resolve, reject) => {
              publishExact(producer, { exchange: "", routingKey: queue }, { properties, content: body }, (error) =>
                error ? reject(error) : resolve(),
              );
            }),
        ),
      ).then(() => undefined),
    close: () => connection.close(),
  };
  await channel.consume(queue, (message) => {
    if (message === null) throw new Error(`the broker cancelled the consumer of ${queue}`);
    const delivery = consumedOf(message);
    work.consumed.push(delivery);
    if (work.handles(delivery)) channel.ack(message);
    else channel.nack(message, false, true);
  });
  return work;
}

function consumedOf(message: ConsumeMessage): Consumed {
  const received = receivedProperties(message);
  if (!received.readable) throw new Error(`the consumer cannot read a message: ${received.problem}`);
  const { messageId } = received.properties;
  if (typeof messageId !== "string") throw new Error("the consumer got a message without an id");
  return { messageId, properties: received.properties, body: message.content };
}
