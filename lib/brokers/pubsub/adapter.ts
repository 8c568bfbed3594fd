import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { Adapter, AdapterDeps, ProbeResult, ProbeSample } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { PubsubClient } from "@/lib/brokers/pubsub/client";
import { PubsubFault, words } from "@/lib/brokers/pubsub/failure";
import { type PubsubConfig, shortName } from "@/lib/brokers/pubsub/kind.shapes";
import { pubsubMessage } from "@/lib/brokers/pubsub/message";
import { PubsubPublisher } from "@/lib/brokers/pubsub/publisher";
import { pubsubReader } from "@/lib/brokers/pubsub/reader";
import type { Subscription } from "@/lib/brokers/pubsub/wire";

/** Google Cloud Pub/Sub: reads a subscription of a dead-letter topic; redrives to the topic a message died in. */
export function pubsubAdapter(deps: AdapterDeps): Adapter<PubsubConfig> {
  return {
    reader: (config) => pubsubReader(config, deps),
    probe: (config, signal) => probeSubscription(config, deps, signal),
    publisher: (config, lane = "main") => new PubsubPublisher(config, lane, deps),
  };
}

/** How long an empty subscription is waited for. */
const LOOK_MS = 2_000;

type Look = { sample: ProbeSample[]; note: string };

/**
 * Pulls the first messages and gives them back at once. A subscription with a dead-letter policy of its own counts that as a
 * delivery and gives a message up at its limit, so it is not looked into, nor one of which that is unknown.
 */
async function look(
  client: PubsubClient,
  config: PubsubConfig,
  found: Subscription | null,
  signal: AbortSignal,
): Promise<Look> {
  if (found === null)
    return {
      sample: [],
      note: "; not sampled: without pubsub.subscriptions.get it is unknown whether each look counts",
    };
  if (found.deadLetterPolicy !== null)
    return {
      sample: [],
      note: "; not sampled, because each look counts towards the dead-letter policy of this subscription itself",
    };
  const { subscription } = client;
  const pulling = client.call("Pull", { subscription, maxMessages: SAMPLE_MAX }, { signal, timeoutMs: LOOK_MS });
  const { receivedMessages } = await pulling.catch((error: unknown) => {
    if (error instanceof PubsubFault && error.code === "PUBSUB_DEADLINE_EXCEEDED") return { receivedMessages: [] };
    throw error;
  });
  if (receivedMessages.length === 0) return { sample: [], note: "; no message arrived" };
  const ackIds = receivedMessages.map(({ ackId }) => ackId);
  // Without an answer they come back when the acknowledgement deadline of the subscription ends.
  await client
    .call("ModifyAckDeadline", { subscription, ackIds, ackDeadlineSeconds: 0 }, { signal })
    .catch(() => signal.throwIfAborted());
  const container = shortName(subscription);
  const sample = receivedMessages.map((one) =>
    sampleOf(readDeadLetter(pubsubMessage(one, container), config.mapping ?? {})),
  );
  return { sample, note: `; read ${sample.length} and returned them` };
}

/** Whether the subscription can be read, and its first messages. Consumes nothing. */
async function probeSubscription(config: PubsubConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  signal.throwIfAborted();
  const client = new PubsubClient(config, deps);
  return probed(signal, async () => {
    const found = await client.inspect(signal);
    const { sample, note } = await look(client, config, found, signal);
    const of = found === null ? "" : `, of ${words(found.topic)}`;
    const where = `${client.address}, ${words(client.subscription)}${of}`;
    return {
      detail: `reached ${where}${note}; Pub/Sub does not say how many messages wait: see num_undelivered_messages in Cloud Monitoring`,
      sample,
    };
  }).finally(() => client.close());
}
