import { RabbitmqConsumer } from "@/lib/brokers/amqp/consumer";
import { probeQueue } from "@/lib/brokers/amqp/probe";
import { RabbitmqPublisher } from "@/lib/brokers/amqp/publisher";
import type { Broker } from "@/lib/brokers/port";
import type { RabbitmqConfig } from "@/lib/contract/source-config";
import type { Clock } from "@/lib/platform/clock";

export type RabbitmqOptions = {
  clock: Clock;
  /** Uniform in [0, 1), for the jitter of reconnects. */
  random: () => number;
  /** Receives every failure of a consumer, for the log. */
  report?: (what: string, error: unknown) => void;
};

/**
 * RabbitMQ: reads a dead-letter queue, commits, then acknowledges; redrives by confirmed publish to the queue a message
 * died in. Configurations have their secrets resolved.
 */
export function rabbitmqBroker({ clock, random, report = () => undefined }: RabbitmqOptions): Broker<RabbitmqConfig> {
  return {
    kind: "rabbitmq",
    consume: (config, park) => new RabbitmqConsumer(config, park, { clock, random, report }),
    probe: (config, signal) => probeQueue(config, clock, signal),
    publisher: (config, lane = "main") => new RabbitmqPublisher(config, lane, { clock }),
  };
}
