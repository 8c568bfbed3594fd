import { amqp10Adapter } from "@/lib/brokers/amqp10/adapter";
import { bullmqAdapter } from "@/lib/brokers/bullmq/adapter";
import { celeryAdapter } from "@/lib/brokers/celery/adapter";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import { createOwnerCheck } from "@/lib/brokers/http/owner-check";
import { kafkaAdapter } from "@/lib/brokers/kafka/adapter";
import { hostsOf, resolveSecrets } from "@/lib/brokers/kinds/config-secrets.shapes";
import type { Mapping, TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import type { ConfigOf, Kind, SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { natsAdapter } from "@/lib/brokers/nats/adapter";
import { outboxAdapter } from "@/lib/brokers/outbox/adapter";
import { ParkLoop, type ParkLoopDeps } from "@/lib/brokers/park-loop";
import type {
  Adapter,
  AdapterDeps,
  Consumer,
  OwnerCheck,
  ParkBatch,
  ParkedHeaders,
  ProbeResult,
  Publisher,
  ReadMode,
} from "@/lib/brokers/port";
import { mapSample } from "@/lib/brokers/probe-sample";
import { pubsubAdapter } from "@/lib/brokers/pubsub/adapter";
import { rabbitmqAdapter } from "@/lib/brokers/rabbitmq/adapter";
import { redisStreamsAdapter } from "@/lib/brokers/redis-streams/adapter";
import { createScrubber, type Scrubber } from "@/lib/brokers/scrub";
import { sidekiqAdapter } from "@/lib/brokers/sidekiq/adapter";
import { sqsAdapter } from "@/lib/brokers/sqs/adapter";
import type { SecretVariables } from "@/lib/guard/redaction/secret-references.pure";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { DomainError } from "@/lib/platform/plain/problem.pure";

export const ADAPTERS: { [K in Kind]: (deps: AdapterDeps) => Adapter<ConfigOf<K>> } = {
  http: httpAdapter,
  rabbitmq: rabbitmqAdapter,
  "redis-stream": redisStreamsAdapter,
  kafka: kafkaAdapter,
  sqs: sqsAdapter,
  pubsub: pubsubAdapter,
  outbox: outboxAdapter,
  sidekiq: sidekiqAdapter,
  nats: natsAdapter,
  bullmq: bullmqAdapter,
  celery: celeryAdapter,
  amqp10: amqp10Adapter,
};

/**
 * The adapters by kind, over configurations as they are stored. Secrets are resolved here and leave no other way than to
 * the address they are meant for: every text that comes back is scrubbed of them. Made once by a composition root.
 * Each method throws DomainError `invalid-config` for a reference that cannot be used, and for an IP address that sources may
 * not have.
 */
export type BrokerRegistry = {
  /** Reads the source of this name until stopped. null: events of this kind come by Parkade's API. */
  consume(source: SourceConfig, park: ParkBatch, options: { name: string; mode?: ReadMode }): Consumer | null;
  probe(source: SourceConfig, signal: AbortSignal): Promise<ProbeResult>;
  /** A named target, whose lane is null, has its destination in `source` in place of the source's main one. */
  publisher(source: SourceConfig, lane?: "main" | "slow" | null): Publisher;
  /** The check call alone; null = there is none. */
  ownerCheck(source: SourceConfig): OwnerCheck | null;
  /** See Publisher; no connection is made. */
  leftOut(source: SourceConfig, message: ParkedHeaders): string[];
};

export type RegistryOptions = AdapterDeps & { secrets: SecretVariables; report?: ParkLoopDeps["report"] };

export function brokerRegistry({ secrets, report, ...deps }: RegistryOptions): BrokerRegistry {
  const scrubber = createScrubber();
  const loopDeps: ParkLoopDeps = {
    ...deps,
    report: (what, error) => report?.(scrubber.text(what), scrubber.error(error)),
  };
  const adapters = new Map<Kind, Adapter<SourceConfig["config"]>>();
  const adapterOf = (kind: Kind) => {
    // The kind of a source and the type of its configuration go together, which only the table knows.
    const adapter = adapters.get(kind) ?? (ADAPTERS[kind](deps) as Adapter<SourceConfig["config"]>);
    adapters.set(kind, adapter);
    return adapter;
  };
  const resolved = (stored: SourceConfig) => {
    const { source, secrets: values } = resolveSecrets(stored, secrets);
    scrubber.learn(values);
    assertAddresses(source, deps.addresses ?? DEFAULT_ADDRESSES);
    return { adapter: adapterOf(source.kind), config: source.config };
  };
  const checkOf = (config: SourceConfig["config"]) =>
    config.checkCall &&
    scrubbedCheck(createOwnerCheck(config.checkCall, { ...deps, tls: tlsOfCheck(config) }), scrubber);
  return {
    consume: (stored, park, { name, mode }) => {
      const { adapter, config } = resolved(stored);
      if (adapter.reader === null) return null;
      return scrubbedConsumer(new ParkLoop(adapter.reader(config, name), park, loopDeps, mode), scrubber);
    },
    probe: async (stored, signal) => {
      const { adapter, config } = resolved(stored);
      // The adapter reads without the mapping, which is then applied as the preview of another mapping applies it.
      const { mapping = {}, ...unmapped } = config;
      const probing = adapter.probe(unmapped as SourceConfig["config"], signal);
      return scrubbedProbe(
        probing.then((result) => mapped(result, mapping)),
        scrubber,
      );
    },
    publisher: (stored, lane) => {
      const { adapter, config } = resolved(stored);
      const publisher = scrubbedPublisher(adapter.publisher(config, lane ?? "main"), checkOf(config), scrubber);
      return { ...publisher, leftOut: (message) => adapter.leftOut?.(config, message) ?? [] };
    },
    ownerCheck: (stored) => checkOf(resolved(stored).config) ?? null,
    leftOut: ({ kind, config }, message) => adapterOf(kind).leftOut?.(config, message) ?? [],
  };
}

/** What says how the target is trusted holds for its check call at the same server, and for no other: a client certificate names us. */
function tlsOfCheck(config: SourceConfig["config"]): TlsSettings {
  if (!("redriveUrl" in config) || config.redriveUrl === undefined || config.checkCall === undefined) return {};
  return new URL(config.redriveUrl).host === new URL(config.checkCall.url).host ? (config.tls ?? {}) : {};
}

/** IP addresses, before a client is made. The address of a name is checked when it is connected to. */
function assertAddresses(source: SourceConfig, addresses: AddressFilter): void {
  for (const host of hostsOf(source)) {
    try {
      addresses.assertAllowed(host);
    } catch (error) {
      throw new DomainError("invalid-config", (error as Error).message);
    }
  }
}

function scrubbedConsumer(consumer: Consumer, scrubber: Scrubber): Consumer {
  return {
    state: () => {
      const state = consumer.state();
      return { ...state, lastError: state.lastError === null ? null : scrubber.text(state.lastError) };
    },
    steer: (mode) => consumer.steer(mode),
    retryNow: () => consumer.retryNow(),
    stop: () => consumer.stop(),
  };
}

/** What the owner says may repeat a credential of the call. */
function scrubbedCheck(check: OwnerCheck, scrubber: Scrubber): OwnerCheck {
  return {
    ...check,
    ask: async (events, signal) => (await check.ask(events, signal)).map((answer) => scrubbed(answer, scrubber)),
  };
}

function scrubbedPublisher(publisher: Publisher, ownerCheck: OwnerCheck | undefined, scrubber: Scrubber): Publisher {
  return {
    ownerCheck,
    publish: async (message, signal, onPhase) => {
      try {
        const receipt = await publisher.publish(message, signal, onPhase);
        return { ...receipt, status: scrubber.text(receipt.status) };
      } catch (error) {
        throw scrubber.error(error);
      }
    },
    probe: (signal) => scrubbedProbe(publisher.probe(signal), scrubber),
    close: async () => {
      await Promise.all([publisher.close(), ownerCheck?.close()]);
    },
  };
}

function mapped(result: ProbeResult, mapping: Mapping): ProbeResult {
  if (!result.reachable) return result;
  return { ...result, sample: result.sample.map((one) => ({ ...one, ...mapSample(one, mapping) })) };
}

async function scrubbedProbe(probing: Promise<ProbeResult>, scrubber: Scrubber): Promise<ProbeResult> {
  try {
    return scrubbed(await probing, scrubber);
  } catch (error) {
    throw scrubber.error(error);
  }
}

function scrubbed<T>(value: T, scrubber: Scrubber): T {
  if (typeof value === "string") return scrubber.text(value) as T;
  if (Array.isArray(value)) return value.map((entry) => scrubbed(entry, scrubber)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, scrubbed(entry, scrubber)])) as T;
}
