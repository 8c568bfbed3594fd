import type { Channel, ChannelModel } from "amqplib";
import { abortable } from "@/lib/brokers/abortable";
import type { Adapter, AdapterDeps, ProbeResult, ProbeSample } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import {
  addressText,
  closeConnection,
  describeQueue,
  openConnection,
  refuseStream,
} from "@/lib/brokers/rabbitmq/connection";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { RabbitmqPublisher } from "@/lib/brokers/rabbitmq/publisher";
import { rabbitmqReader } from "@/lib/brokers/rabbitmq/reader";
import { receive } from "@/lib/brokers/rabbitmq/receive";

/** RabbitMQ: reads a dead-letter queue; redrives by confirmed publish to the queue a message died in. */
export function rabbitmqAdapter(deps: AdapterDeps): Adapter<RabbitmqConfig> {
  return {
    reader: (config) => rabbitmqReader(config, deps),
    probe: (config, signal) => probeQueue(config, deps, signal),
    publisher: (config, lane = "main") => new RabbitmqPublisher(config, lane, deps),
  };
}

/** A quorum queue counts each read of a probe as a delivery. A message with this many deliveries is not read by a probe. */
const DELIVERY_COUNT_MAX = 3;

type Peek = { sample: ProbeSample[]; note: string };

/** Reads the first messages without consuming them: closing the channel returns them to their places in the queue. */
async function peek(channel: Channel, config: RabbitmqConfig): Promise<Peek> {
  const sample: ProbeSample[] = [];
  while (sample.length < SAMPLE_MAX) {
    const message = await channel.get(config.queue, { noAck: false });
    if (message === false) break;
    const { letter, deliveryCount } = receive(message, config);
    sample.push(sampleOf(letter));
    if (deliveryCount >= DELIVERY_COUNT_MAX)
      return { sample, note: "; looked at one message only, because this quorum queue counts each look as a delivery" };
  }
  return {
    sample,
    note: sample.length === 0 ? "" : `; read ${sample.length} and returned them, marked as redelivered`,
  };
}

async function inspect(model: ChannelModel, config: RabbitmqConfig) {
  await refuseStream(model, config.queue);
  const channel = await model.createChannel();
  channel.on("error", () => undefined); // the rejected call carries the same error
  const { messageCount, consumerCount } = await channel.checkQueue(config.queue);
  const detail = `connected to ${addressText(config.url)}, queue ${config.queue}`;
  // A running consumer holds the head of the queue: reading behind it would change the order in which it gets messages.
  if (consumerCount > 0)
    return {
      detail: `${detail}; not sampled, because ${consumerCount} consumer(s) are reading it`,
      depth: messageCount,
    };
  const { sample, note } = await peek(channel, config);
  return { detail: detail + note, depth: messageCount, sample };
}

/** Whether the queue can be read, how deep it is, and its first messages. Consumes nothing and changes no order. */
function probeQueue(
  config: RabbitmqConfig,
  { clock, addresses }: AdapterDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const look = async () => {
    const model = await openConnection(config, { name: "parkade probe", clock, signal, addresses });
    try {
      return await abortable(inspect(model, config), signal);
    } finally {
      await closeConnection(model, clock);
    }
  };
  return probed(signal, look, (error) => describeQueue(error, config));
}
