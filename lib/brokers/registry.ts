import { httpBroker } from "@/lib/brokers/http";
import type { Broker, Consumer, ParkBatch, ProbeResult, Publisher } from "@/lib/brokers/port";
import { type RabbitmqOptions, rabbitmqBroker } from "@/lib/brokers/rabbitmq";
import type { HttpConfig, RabbitmqConfig, SourceConfig, SourceKind } from "@/lib/contract/source-config";

type Brokers = { http: Broker<HttpConfig>; rabbitmq: Broker<RabbitmqConfig> };

/**
 * The adapters by kind, over configurations whose secrets are resolved. Made once by a composition root.
 */
export type BrokerRegistry = {
  brokerFor<Kind extends SourceKind>(kind: Kind): Brokers[Kind];
  consume(source: SourceConfig, park: ParkBatch): Consumer;
  probe(source: SourceConfig, signal: AbortSignal): Promise<ProbeResult>;
  publisher(source: SourceConfig, lane?: "main" | "slow"): Publisher;
};

export function brokerRegistry(options: RabbitmqOptions = {}): BrokerRegistry {
  const brokers: Brokers = { http: httpBroker(options), rabbitmq: rabbitmqBroker(options) };
  // The kind of a source and the type of its configuration go together, which only the union itself knows.
  const of = (source: SourceConfig) => brokers[source.kind] as Broker<SourceConfig["config"]>;
  return {
    brokerFor: (kind) => brokers[kind],
    consume: (source, park) => of(source).consume(source.config, park),
    probe: (source, signal) => of(source).probe(source.config, signal),
    publisher: (source, lane) => of(source).publisher(source.config, lane),
  };
}
