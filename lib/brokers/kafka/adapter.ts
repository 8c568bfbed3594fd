import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { probeTopics } from "@/lib/brokers/kafka/probe";
import { type KafkaDeps, KafkaPublisher } from "@/lib/brokers/kafka/publisher";
import { kafkaReader } from "@/lib/brokers/kafka/reader";
import type { Adapter } from "@/lib/brokers/port";

/** Kafka: reads dead-letter topics in a group of its own; redrives under the same key with acks=all. */
export function kafkaAdapter(deps: KafkaDeps): Adapter<KafkaConfig> {
  return {
    reader: (config, source) => kafkaReader(config, source, deps),
    probe: (config, signal) => probeTopics(config, deps, signal),
    publisher: (config, lane = "main") => new KafkaPublisher(config, lane, deps),
  };
}
