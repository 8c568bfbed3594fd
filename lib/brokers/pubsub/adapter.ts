import type { Adapter, AdapterDeps } from "@/lib/brokers/port";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import { probeSubscription } from "@/lib/brokers/pubsub/probe";
import { PubsubPublisher } from "@/lib/brokers/pubsub/publisher";
import { pubsubReader } from "@/lib/brokers/pubsub/reader";

/** Google Cloud Pub/Sub: reads a subscription of a dead-letter topic; redrives to the topic a message died in. */
export function pubsubAdapter(deps: AdapterDeps): Adapter<PubsubConfig> {
  return {
    reader: (config) => pubsubReader(config, deps),
    probe: (config, signal) => probeSubscription(config, deps, signal),
    publisher: (config, lane = "main") => new PubsubPublisher(config, lane, deps),
  };
}
