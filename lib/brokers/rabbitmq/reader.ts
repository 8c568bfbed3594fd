import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { readInTurns } from "@/lib/brokers/conventions/read-dead-letter";
import { DeliveryBuffer } from "@/lib/brokers/delivery-buffer";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import {
  AmqpError,
  addressText,
  amqpCode,
  closeConnection,
  describeQueue,
  dropConnection,
  openConnection,
  refuseStream,
} from "@/lib/brokers/rabbitmq/connection";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { receive } from "@/lib/brokers/rabbitmq/receive";
import { atMost, type Clock } from "@/lib/platform/clock";

/** Two batches: one is committed while the next one is read. */
const PREFETCH_DEFAULT = 1_000;
/** How long a batch waits for further messages after its first one. */
const LINGER_MS = 20;
/** How long, on stop, a broker may take to confirm that it has all unacknowledged messages back. */
const HAND_BACK_MS = 2_000;
/** From this count on a failed batch is held: a quorum queue drops messages beyond its delivery limit (20 by default). */
const HOLD_FROM_DELIVERY_COUNT = 2;

export function rabbitmqReader(config: RabbitmqConfig, { clock, addresses }: AdapterDeps): Reader<ConsumeMessage> {
  const prefetch = config.prefetch ?? PREFETCH_DEFAULT;
  /** Asked once for each reader, because each time leaves an error in the broker's log. */
  let isQueue = false;
  return {
    what: `queue ${config.queue}`,
    batchMax: Math.max(1, Math.floor(prefetch / 2)),
    holdFromDeliveries: HOLD_FROM_DELIVERY_COUNT,
    open: async (signal) => {
      const model = await openConnection(config, { name: `parkade source ${config.queue}`, clock, signal, addresses });
      try {
        if (!isQueue) await refuseStream(model, config.queue);
        isQueue = true;
        return await QueueSession.open(model, config, { prefetch, clock });
      } catch (error) {
        if (amqpCode(error) === "AMQP_NOT_FOUND") isQueue = false; // a new one of this name may be a stream
        await closeConnection(model, clock);
        throw error;
      }
    },
    describe: (error) => describeQueue(error, config),
  };
}

class QueueSession implements ReadSession<ConsumeMessage> {
  readonly inHandMax: number;
  readonly readsAhead = true;
  private readonly inbox = new DeliveryBuffer<ConsumeMessage>();
  /** Delivery tags handed to the loop and not acknowledged, oldest first. */
  private readonly inHand = new Set<number>();
  private readonly model: ChannelModel;
  private readonly channel: Channel;
  private readonly config: RabbitmqConfig;
  private readonly clock: Clock;

  private constructor(model: ChannelModel, channel: Channel, config: RabbitmqConfig, prefetch: number, clock: Clock) {
    this.model = model;
    this.channel = channel;
    this.config = config;
    this.clock = clock;
    this.inHandMax = prefetch;
  }

  static async open(
    model: ChannelModel,
    config: RabbitmqConfig,
    { prefetch, clock }: { prefetch: number; clock: Clock },
  ): Promise<QueueSession> {
    const channel = await model.createChannel();
    const session = new QueueSession(model, channel, config, prefetch, clock);
    const { inbox } = session;
    let cause: Error | null = null;
    channel.on("error", (error) => {
      cause = error;
    });
    channel.on("close", () => inbox.fail(cause ?? new AmqpError("AMQP_CHANNEL_CLOSED", "the channel was closed")));
    model.on("close", (error) =>
      inbox.fail(error ?? new AmqpError("AMQP_NOT_CONNECTED", `lost ${addressText(config.url)}`)),
    );
    // Passive: a missing queue is an error to show, never one to create.
    await channel.checkQueue(config.queue);
    await channel.prefetch(prefetch);
    await channel.consume(config.queue, (message) => {
      if (message === null) inbox.fail(new AmqpError("AMQP_NOT_FOUND", `queue ${config.queue} was deleted`));
      else inbox.push(message);
    });
    return session;
  }

  async take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<ConsumeMessage>[]> {
    const messages = await this.inbox.takeBatch(max, { signal, withinMs, lingerMs: LINGER_MS, clock: this.clock });
    for (const { fields } of messages) this.inHand.add(fields.deliveryTag);
    const taken = (message: ConsumeMessage) => {
      const { letter, deliveryCount } = receive(message, this.config);
      return { letter, handle: message, deliveries: deliveryCount };
    };
    return readInTurns(messages, taken, this.clock);
  }

  async acknowledge(messages: readonly ConsumeMessage[]): Promise<void> {
    const tags = new Set(messages.map((message) => message.fields.deliveryTag));
    // One frame for all, unless it would acknowledge an older delivery that is still in hand.
    const oldest = [...this.inHand].slice(0, tags.size);
    if (oldest.every((tag) => tags.has(tag))) this.channel.ack(messages.at(-1)!, true);
    else for (const message of messages) this.channel.ack(message);
    for (const tag of tags) this.inHand.delete(tag);
  }

  async lag(): Promise<Lag> {
    const { messageCount } = await this.channel.checkQueue(this.config.queue);
    // The broker counts what is ready; what it has handed out to us is not parked either.
    return { total: messageCount + this.inbox.size + this.inHand.size, parts: [] };
  }

  assertOpen(): void {
    this.inbox.throwIfFailed();
  }

  async close(graceful: boolean): Promise<void> {
    if (graceful && (await this.handBack())) await closeConnection(this.model, this.clock);
    else dropConnection(this.model); // the broker returns what was not acknowledged
  }

  /** Returns unacknowledged messages. True when the broker has answered: it has then done all commands before this one. */
  private async handBack(): Promise<boolean> {
    try {
      this.channel.nackAll(true);
      const answered = this.channel.close().then(() => true);
      return (await atMost(this.clock, HAND_BACK_MS, answered)) ?? false;
    } catch {
      return false; // already closed: the broker has all unacknowledged messages back
    }
  }
}
