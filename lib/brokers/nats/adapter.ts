import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { abortable } from "@/lib/brokers/abortable";
import { connectNats, storedMessage } from "@/lib/brokers/nats/connection";
import { addressOf, natsFault } from "@/lib/brokers/nats/fault";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { NatsPublisher } from "@/lib/brokers/nats/publisher";
import { letterFrom, natsReader } from "@/lib/brokers/nats/reader";
import type { Adapter, AdapterDeps, ProbeResult, ProbeSample } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";

/** NATS JetStream: reads a stream of dead letters or of advisories; redrives to the original subject. */
export function natsAdapter(deps: AdapterDeps): Adapter<NatsConfig> {
  return {
    reader: (config, source) => natsReader(config, source, deps),
    probe: (config, signal) => probeStream(config, deps, signal),
    publisher: (config, lane = "main") => new NatsPublisher(config, lane, deps),
  };
}

/** Where Parkade's consumer stands; null when there is none yet, or no name to look for. */
async function placeOf(nc: NatsConnection, config: NatsConfig): Promise<{ from: number; depth: number } | null> {
  const { stream, consumer, domain } = config;
  if (consumer === undefined) return null;
  const jsm = await jetstreamManager(nc, { checkAPI: false, ...(domain === undefined ? {} : { domain }) });
  try {
    const { ack_floor, num_pending, num_ack_pending } = await jsm.consumers.info(stream, consumer);
    return { from: ack_floor.stream_seq + 1, depth: num_pending + num_ack_pending };
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound) return null;
    throw error;
  }
}

async function inspect(nc: NatsConnection, config: NatsConfig) {
  const { stream, filter = ">", domain } = config;
  const jsm = await jetstreamManager(nc, { checkAPI: false, ...(domain === undefined ? {} : { domain }) });
  const { state } = await jsm.streams.info(stream);
  const place = await placeOf(nc, config);
  const sample: ProbeSample[] = [];
  let seq = Math.max(place?.from ?? 0, state.first_seq, 1);
  while (sample.length < SAMPLE_MAX) {
    const stored = await storedMessage(nc, config, { stream, seq, next_by_subj: filter });
    if (stored === null) break;
    sample.push(sampleOf(await letterFrom(nc, config, { ...stored, stream })));
    seq = stored.seq + 1;
  }
  const depth = place?.depth ?? (config.filter === undefined ? state.messages : null);
  return { detail: `connected to ${addressOf(config)}, stream ${stream}`, depth, sample };
}

/** Whether the stream can be read, how deep it is, and its next messages, which are read without a consumer. */
function probeStream(config: NatsConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const look = async () => {
    const nc = await connectNats(config, "parkade probe", deps, signal);
    try {
      return await abortable(inspect(nc, config), signal);
    } finally {
      await nc.close().catch(() => undefined);
    }
  };
  return probed(signal, look, (error) => natsFault(error, config).message);
}
