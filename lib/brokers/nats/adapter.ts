import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { probeStream } from "@/lib/brokers/nats/probe";
import { NatsPublisher } from "@/lib/brokers/nats/publisher";
import { natsReader } from "@/lib/brokers/nats/reader";
import type { Adapter, AdapterDeps } from "@/lib/brokers/port";

/** NATS JetStream: reads a stream of dead letters or of advisories; redrives to the original subject. */
export function natsAdapter(deps: AdapterDeps): Adapter<NatsConfig> {
  return {
    reader: (config, source) => natsReader(config, source, deps),
    probe: (config, signal) => probeStream(config, deps, signal),
    publisher: (config, lane = "main") => new NatsPublisher(config, lane, deps),
  };
}
