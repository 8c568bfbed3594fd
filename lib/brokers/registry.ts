import { httpBroker } from "@/lib/brokers/http";
import type { Broker, Consumer, ParkBatch, ProbeResult, Publisher } from "@/lib/brokers/port";
import { type RabbitmqOptions, rabbitmqBroker } from "@/lib/brokers/rabbitmq";
import { createScrubber, type Scrubber } from "@/lib/brokers/scrub";
import {
  type HttpConfig,
  type RabbitmqConfig,
  resolveSecrets,
  type SecretVariables,
  type SourceConfig,
} from "@/lib/contract/source-config";

type Brokers = { http: Broker<HttpConfig>; rabbitmq: Broker<RabbitmqConfig> };

/**
 * The adapters by kind, over configurations as they are stored. Secrets are resolved here and leave no other way than to
 * the address they are meant for: every text that comes back is scrubbed of them. Made once by a composition root.
 * Each method throws DomainError `invalid-config` for a reference that cannot be used.
 */
export type BrokerRegistry = {
  consume(source: SourceConfig, park: ParkBatch): Consumer;
  probe(source: SourceConfig, signal: AbortSignal): Promise<ProbeResult>;
  publisher(source: SourceConfig, lane?: "main" | "slow"): Publisher;
};

export type RegistryOptions = RabbitmqOptions & { secrets: SecretVariables };

export function brokerRegistry({ secrets, report, ...options }: RegistryOptions): BrokerRegistry {
  const scrubber = createScrubber();
  const brokers: Brokers = {
    http: httpBroker(options),
    rabbitmq: rabbitmqBroker({
      ...options,
      report: (what, error) => report?.(scrubber.text(what), scrubber.error(error)),
    }),
  };
  const resolved = (stored: SourceConfig) => {
    const { source, secrets: values } = resolveSecrets(stored, secrets);
    scrubber.learn(values);
    // The kind of a source and the type of its configuration go together, which only the union itself knows.
    return { broker: brokers[source.kind] as Broker<SourceConfig["config"]>, config: source.config };
  };
  return {
    consume: (stored, park) => {
      const { broker, config } = resolved(stored);
      return scrubbedConsumer(broker.consume(config, park), scrubber);
    },
    probe: async (stored, signal) => {
      const { broker, config } = resolved(stored);
      return scrubbedProbe(broker.probe(config, signal), scrubber);
    },
    publisher: (stored, lane) => {
      const { broker, config } = resolved(stored);
      return scrubbedPublisher(broker.publisher(config, lane), scrubber);
    },
  };
}

function scrubbedConsumer(consumer: Consumer, scrubber: Scrubber): Consumer {
  return {
    state: () => {
      const state = consumer.state();
      return { ...state, lastError: state.lastError === null ? null : scrubber.text(state.lastError) };
    },
    stop: () => consumer.stop(),
  };
}

function scrubbedPublisher(publisher: Publisher, scrubber: Scrubber): Publisher {
  return {
    publish: async (message, signal, onPhase) => {
      try {
        const { status } = await publisher.publish(message, signal, onPhase);
        return { status: scrubber.text(status) };
      } catch (error) {
        throw scrubber.error(error);
      }
    },
    probe: (signal) => scrubbedProbe(publisher.probe(signal), scrubber),
    close: () => publisher.close(),
  };
}

async function scrubbedProbe(probing: Promise<ProbeResult>, scrubber: Scrubber): Promise<ProbeResult> {
  try {
    const result = await probing;
    const detail = scrubber.text(result.detail);
    if (!result.reachable) return { ...result, detail };
    const sample = result.sample.map((one) => ({
      ...one,
      eventId: scrubber.text(one.eventId),
      errorCode: scrubber.text(one.errorCode),
    }));
    return { ...result, detail, sample };
  } catch (error) {
    throw scrubber.error(error);
  }
}
