import type { Adapter, AdapterDeps } from "@/lib/brokers/port";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { probeQueue } from "@/lib/brokers/rabbitmq/probe";
import { RabbitmqPublisher } from "@/lib/brokers/rabbitmq/publisher";
import { rabbitmqReader } from "@/lib/brokers/rabbitmq/reader";

/** RabbitMQ: reads a dead-letter queue; redrives by confirmed publish to the queue a message died in. */
export function rabbitmqAdapter(deps: AdapterDeps): Adapter<RabbitmqConfig> {
  return {
    reader: (config) => rabbitmqReader(config, deps),
    probe: (config, signal) => probeQueue(config, deps, signal),
    publisher: (config, lane = "main") => new RabbitmqPublisher(config, lane, deps),
  };
}
