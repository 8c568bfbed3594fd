import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { Inbox } from "@/lib/brokers/inbox";
import type { Lag, Position, Positions, Progress, ReadSession, Taken } from "@/lib/brokers/port";
import { AmqpError, addressText, closeConnection, dropConnection } from "@/lib/brokers/rabbitmq/connection";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { receive } from "@/lib/brokers/rabbitmq/receive";
import { endOfStream, markOf, offsetOf, type StreamStart, startOf } from "@/lib/brokers/rabbitmq/streams";
import { atMost, type Clock } from "@/lib/platform/clock";

/** How long a batch waits for further messages after its first one. */
const LINGER_MS = 20;
/** How often a consumer that waits for the log asks for it. */
const HOLD_EVERY_MS = 2_000;
/** A stream sends the message that was read last, and what comes after, within milliseconds. */
const CHECK_MS = 5_000;
/** How long a close waits for the store. */
const RELEASE_MS = 2_000;
const NONE: Position = { offset: -1n, mark: null };

export type StreamSessionOptions = {
  prefetch: number;
  clock: Clock;
  positions: Positions;
  tell: (notice: string) => void;
};

/** A place in the stream, with the hash of the message there. */
type Place = { offset: bigint; mark: () => string | null };

/**
 * Reads a stream from the position that Parkade keeps, if no other worker reads it. The reading begins with the message
 * that was parked last: when it is gone, retention has removed some; when another one is in its place, the stream was
 * deleted and made anew.
 */
export class StreamSession implements ReadSession<ConsumeMessage> {
  readonly inHandMax: number;
  readonly keepsAcknowledged = true;
  private readonly inbox = new Inbox<ConsumeMessage>();
  /** Handed to the loop and not acknowledged, oldest first, each with the place before it. */
  private readonly inHand = new Map<ConsumeMessage, { offset: bigint; before: Place | null }>();
  /** The message that was handed to the loop last, or the position at which the reading began. */
  private last: Place | null = null;
  /** null: it does not read, because another consumer does. */
  private reading: { channel: Channel; sinceMs: number } | null = null;
  /** The last message of the stream when the broker counted `count` messages. */
  private end: { offset: bigint | null; count: number } | null = null;
  private readonly model: ChannelModel;
  private readonly control: Channel;
  private readonly config: RabbitmqConfig;
  private readonly options: StreamSessionOptions;

  private constructor(model: ChannelModel, control: Channel, config: RabbitmqConfig, options: StreamSessionOptions) {
    this.model = model;
    this.control = control;
    this.config = config;
    this.options = options;
    this.inHandMax = options.prefetch;
  }

  static async open(
    model: ChannelModel,
    config: RabbitmqConfig,
    options: StreamSessionOptions,
  ): Promise<StreamSession> {
    const control = await model.createChannel();
    const session = new StreamSession(model, control, config, options);
    session.watch(control);
    model.on("close", (error) =>
      session.inbox.fail(error ?? new AmqpError("AMQP_NOT_CONNECTED", `lost ${addressText(config.url)}`)),
    );
    await control.checkQueue(config.queue);
    return session;
  }

  private watch(channel: Channel): void {
    let cause: Error | null = null;
    channel.on("error", (error) => {
      cause = error;
    });
    const closed = new AmqpError("AMQP_CHANNEL_CLOSED", "the channel was closed");
    channel.on("close", () => this.inbox.fail(cause ?? closed));
  }

  async take(max: number, signal: AbortSignal, withinMs = Number.POSITIVE_INFINITY): Promise<Taken<ConsumeMessage>[]> {
    const { clock } = this.options;
    const untilMs = clock.nowMs() + withinMs;
    while (this.reading === null && !(await this.begin())) {
      const waitMs = Math.min(HOLD_EVERY_MS, untilMs - clock.nowMs());
      await clock.sleep(Math.max(waitMs, 0), signal).catch(() => undefined); // stopped
      this.assertOpen();
      if (signal.aborted || clock.nowMs() >= untilMs) return [];
    }
    const left = Number.isFinite(withinMs) ? { withinMs: Math.max(untilMs - clock.nowMs(), 1) } : {};
    const messages = await this.inbox.takeBatch(max, { signal, ...left, lingerMs: LINGER_MS, clock });
    return messages.map((message) => this.handOut(message));
  }

  private handOut(message: ConsumeMessage): Taken<ConsumeMessage> {
    const before = this.last;
    const known = offsetOf(message);
    const { content } = message;
    const place: Place =
      known === null
        ? { offset: before === null ? 0n : before.offset + 1n, mark: () => null }
        : { offset: known, mark: () => markOf(content) };
    this.inHand.set(message, { offset: place.offset, before });
    this.last = place;
    return { letter: receive(message, this.config, known).letter, handle: message, deliveries: 0 };
  }

  /** False when another consumer has the stream. */
  private async begin(): Promise<boolean> {
    const { queue, streamOffset } = this.config;
    const { positions, clock } = this.options;
    const held = await this.stored(positions.hold(queue));
    if (held === null) return false;
    let { position } = held;
    if (position === null && streamOffset === "next") {
      // Stored at once: what comes while nobody reads is to be read.
      position = (await endOfStream(this.model, queue, { clock })) ?? NONE;
      await this.stored(positions.set({ log: queue, position }));
    }
    if (position !== null && position.offset >= 0n) {
      const why = await this.goOn(position);
      if (why === null) return true;
      position = NONE;
      await this.stored(positions.set({ log: queue, position }));
      this.options.tell(`stream ${queue} was deleted and made anew: ${why}. It is read from its start`);
    }
    const { channel, first } = await this.consume(position === null ? startOf(streamOffset) : "first", position);
    void first.then((offset) => this.sayWhatIsLost(position, offset.offset));
    this.start(channel);
    return true;
  }

  /** Reads on behind a position. Resolves with the reason when the stream is another one than that of the position. */
  private async goOn(position: Position): Promise<string | null> {
    const { queue } = this.config;
    const { clock } = this.options;
    const { channel, first } = await this.consume(Number(position.offset), position);
    const found = await atMost(clock, CHECK_MS, first);
    let why: string | null = null;
    if (found === null) {
      // Neither that message nor any behind it: a stream always keeps its last ones.
      const end = await endOfStream(this.model, queue, { clock, silentMs: CHECK_MS });
      if (end === null) why = `it is empty, and offset ${position.offset} was read before`;
      else if (end.offset < position.offset)
        why = `it ends at offset ${end.offset}, and ${position.offset} was read before`;
      // A stream that comes back with its broker may leave a consumer that was there before without messages, for ever.
      else throw new AmqpError("AMQP_STREAM_SILENT", `stream ${queue} has messages and sends none: it may be starting`);
    } else if (found.offset === position.offset && position.mark !== null && found.mark() !== position.mark)
      why = `offset ${position.offset} was read before, and was another message`;
    if (why === null) {
      if (found !== null) this.sayWhatIsLost(position, found.offset);
      this.start(channel);
      return null;
    }
    await channel.close();
    this.inbox.take(this.inbox.size);
    return why;
  }

  private start(channel: Channel): void {
    this.watch(channel);
    this.reading = { channel, sinceMs: this.options.clock.nowMs() };
  }

  /** Tracking data of other clients takes offsets, too: hence at most. */
  private sayWhatIsLost(position: Position | null, offset: bigint): void {
    const lost = position === null ? 0n : offset - position.offset - 1n;
    if (lost <= 0n) return;
    this.options.tell(
      `retention removed at most ${lost} messages of stream ${this.config.queue} before they were read: it goes on at offset ${offset}`,
    );
  }

  /** Messages up to the position are left out. `first`: the first one that comes, those included. */
  private async consume(
    start: StreamStart,
    position: Position | null,
  ): Promise<{ channel: Channel; first: Promise<Place> }> {
    const { queue } = this.config;
    const channel = await this.model.createChannel();
    channel.on("error", () => undefined); // `watch` and the rejected call tell it
    const first = Promise.withResolvers<Place>();
    this.last = position === null ? null : { offset: position.offset, mark: () => position.mark };
    await channel.prefetch(this.options.prefetch);
    const receiveOne = (message: ConsumeMessage | null) => {
      if (message === null) return this.inbox.fail(new AmqpError("AMQP_NOT_FOUND", `stream ${queue} was deleted`));
      const offset = offsetOf(message);
      if (offset !== null) first.resolve({ offset, mark: () => markOf(message.content) });
      if (offset !== null && position !== null && offset <= position.offset) channel.ack(message);
      else this.inbox.push(message);
    };
    await channel.consume(queue, receiveOne, { arguments: { "x-stream-offset": start } });
    return { channel, first: first.promise };
  }

  private async stored<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const code = (error as { code?: unknown } | null)?.code;
      const text = `the position in stream ${this.config.queue} cannot be read or stored (${code ?? "unknown error"})`;
      throw new AmqpError("POSITION_NOT_STORED", text, error);
    }
  }

  progressAfter(messages: readonly ConsumeMessage[]): Progress | null {
    const done = new Set(messages);
    let at = this.last;
    for (const [message, { before }] of this.inHand) {
      if (done.has(message)) continue;
      at = before;
      break;
    }
    return at === null ? null : { log: this.config.queue, position: { offset: at.offset, mark: at.mark() } };
  }

  async acknowledge(messages: readonly ConsumeMessage[]): Promise<void> {
    for (const message of messages) {
      this.reading!.channel.ack(message);
      this.inHand.delete(message);
    }
  }

  async lag(): Promise<Lag> {
    if (this.reading === null) return { total: null, parts: [] };
    const { queue } = this.config;
    const { positions, clock } = this.options;
    if ((await this.stored(positions.hold(queue))) === null)
      this.inbox.fail(new AmqpError("POSITION_TAKEN", `another worker reads stream ${queue} now`));
    const { messageCount: count } = await this.control.checkQueue(queue);
    // The count is seconds old, and begins with what retention has left: it tells only that there is something new.
    if (this.end?.count !== count)
      this.end = { offset: (await endOfStream(this.model, queue, { clock }))?.offset ?? null, count };
    const here = this.inbox.size + this.inHand.size;
    const [oldest] = this.inHand.values();
    const done = oldest === undefined ? this.last?.offset : oldest.offset - 1n;
    const { offset: end } = this.end;
    return { total: end === null || done === undefined ? here : Math.max(here, Number(end - done)), parts: [] };
  }

  async untilNow(): Promise<() => Promise<boolean>> {
    const { queue } = this.config;
    const { positions, clock } = this.options;
    const end = await endOfStream(this.model, queue, { clock });
    return async () => {
      if (end === null) return true;
      if (this.reading === null) {
        const position = await this.stored(positions.read(queue));
        return position !== null && position.offset >= end.offset;
      }
      if (this.inHand.size > 0) return false;
      if (this.last !== null) return this.last.offset >= end.offset;
      return this.inbox.size === 0 && clock.nowMs() - this.reading.sinceMs > CHECK_MS; // it begins behind the end
    };
  }

  assertOpen(): void {
    this.inbox.throwIfFailed();
  }

  async close(graceful: boolean): Promise<void> {
    const { positions, clock } = this.options;
    const late = Promise.withResolvers<void>();
    const stopTimer = clock.timer(RELEASE_MS, late.resolve);
    if (graceful) await closeConnection(this.model, clock);
    else dropConnection(this.model);
    // Without it another worker waits until the time of this one is over.
    await Promise.race([positions.release(this.config.queue).catch(() => undefined), late.promise]).finally(stopTimer);
  }
}
