import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import {
  AmqpError,
  addressText,
  amqpCode,
  closeConnection,
  dropConnection,
  openConnection,
} from "@/lib/brokers/amqp/connection";
import { Inbox } from "@/lib/brokers/amqp/inbox";
import { type Received, receive } from "@/lib/brokers/amqp/receive";
import type { Consumer, ConsumerState, ParkBatch } from "@/lib/brokers/port";
import type { RabbitmqConfig } from "@/lib/contract/source-config";
import type { Clock } from "@/lib/platform/clock";

const PREFETCH_DEFAULT = 500;
/** How long a batch waits for further messages after its first one. */
const LINGER_MS = 20;
/** Full-jitter bounds of the pause after a lost connection or a batch that could not be committed. */
const BACKOFF_MS = { first: 500, max: 30_000 };
/** How often the depth of the queue is read. */
const LAG_EVERY_MS = 5_000;
/** How long, on stop, a broker may take to confirm that it has all unacknowledged messages back. */
const HAND_BACK_MS = 2_000;
/** How often a message that alone cannot be committed is tried again. */
const SET_ASIDE_MS = 60_000;
/** A session that lasted this long was healthy: the next loss starts again with the short pause. */
const HEALTHY_MS = 30_000;
/** This many single commits that fail in a row, with none that succeeds, are an outage and not bad messages. */
const OUTAGE_AFTER = 3;
/**
 * A quorum queue counts returned deliveries, and drops a message beyond its delivery limit (20 unless configured, since
 * RabbitMQ 4.0). From this count on a batch that cannot be committed is held here instead of being returned.
 */
const HOLD_FROM_DELIVERY_COUNT = 2;

export type ConsumerDeps = {
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Called with every failure, for the log; a person sees `state()`. */
  report: (what: string, error: unknown) => void;
};

type InHand = Received & { message: ConsumeMessage };

/** The commit failed; the broker gets the batch back. */
class ParkRejected extends Error {
  override readonly name = "ParkRejected";
}

/** Codes are safe to show; the texts of a database are not. */
function parkFailure(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown error";
}

function plural(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

/** The consumption over one connection, until the connection ends. */
type Session = {
  channel: Channel;
  /** Fails when the connection, the channel or the queue is gone. */
  inbox: Inbox<ConsumeMessage>;
  /** Messages that could not be committed while others could: kept unacknowledged, tried again at `retryAtMs`. */
  setAside: InHand[];
  retryAtMs: number;
};

/** Reads one dead-letter queue until stopped. */
export class RabbitmqConsumer implements Consumer {
  private readonly config: RabbitmqConfig;
  private readonly park: ParkBatch;
  private readonly deps: ConsumerDeps;
  private readonly stopping = new AbortController();
  private readonly stopped: Promise<void>;
  private current: ConsumerState = { state: "connecting", lag: null, lastError: null };
  private failures = 0;
  /** Commits fail: a reconnect alone is no recovery. */
  private parkFails = false;

  constructor(config: RabbitmqConfig, park: ParkBatch, deps: ConsumerDeps) {
    this.config = config;
    this.park = park;
    this.deps = deps;
    this.stopped = this.run();
  }

  state(): ConsumerState {
    return { ...this.current };
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.stopped;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.session(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.failing(error);
        await this.pause(signal);
      }
    }
    this.current = { ...this.current, state: "stopped" };
  }

  private failing(error: unknown): void {
    // A rejected commit has set a better text already.
    const lastError = error instanceof ParkRejected ? this.current.lastError : this.describe(error);
    this.current = { state: "failing", lag: null, lastError };
    if (!(error instanceof ParkRejected)) this.deps.report(`cannot read queue ${this.config.queue}`, error);
  }

  private describe(error: unknown): string {
    const where = addressText(this.config.url);
    const code = amqpCode(error);
    if (code === "AMQP_NOT_FOUND") return `queue ${this.config.queue} does not exist on ${where}`;
    if (code === "AMQP_ACCESS_REFUSED")
      return `${where} refuses access: check the user, the password and the permission to read ${this.config.queue}`;
    return error instanceof AmqpError ? error.message : `lost ${where} (${code})`;
  }

  /** Exponential, with jitter, capped; ends at once on stop. */
  private async pause(signal: AbortSignal): Promise<void> {
    const ceiling = Math.min(BACKOFF_MS.first * 2 ** Math.min(this.failures, 16), BACKOFF_MS.max);
    this.failures += 1;
    // Never 0: a broker that accepts a connection and closes it must not get a stream of connections.
    const ms = BACKOFF_MS.first / 2 + this.deps.random() * ceiling;
    await this.deps.clock.sleep(Math.min(ms, BACKOFF_MS.max), signal).catch(() => undefined); // stopped
  }

  private async session(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const model = await openConnection(this.config.url, { name: `parkade source ${this.config.queue}`, clock, signal });
    const startedMs = clock.nowMs();
    const ended = new AbortController();
    let session: Session | null = null;
    try {
      session = await this.open(model);
      this.current = { ...this.current, state: this.parkFails ? "failing" : "running" };
      if (!this.parkFails) this.current.lastError = null;
      void this.watchLag(session.channel, AbortSignal.any([signal, ended.signal]));
      await this.read(session, signal);
    } finally {
      ended.abort();
      if (!this.parkFails && clock.nowMs() - startedMs > HEALTHY_MS) this.failures = 0;
      const answering = signal.aborted && session !== null && (await this.handBack(session));
      if (answering) await closeConnection(model, clock);
      else dropConnection(model); // the broker returns what was not acknowledged
    }
  }

  private async open(model: ChannelModel): Promise<Session> {
    const inbox = new Inbox<ConsumeMessage>();
    const channel = await model.createChannel();
    let cause: Error | null = null;
    channel.on("error", (error) => {
      cause = error;
    });
    channel.on("close", () => inbox.fail(cause ?? new AmqpError("AMQP_CHANNEL_CLOSED", "the channel was closed")));
    model.on("close", (error) =>
      inbox.fail(error ?? new AmqpError("AMQP_NOT_CONNECTED", `lost ${addressText(this.config.url)}`)),
    );
    // Passive: a missing queue is an error to show, never one to create.
    const { messageCount } = await channel.checkQueue(this.config.queue);
    this.current = { ...this.current, lag: messageCount };
    await channel.prefetch(this.config.prefetch ?? PREFETCH_DEFAULT);
    await channel.consume(this.config.queue, (message) => {
      if (message === null) inbox.fail(new AmqpError("AMQP_NOT_FOUND", `queue ${this.config.queue} was deleted`));
      else inbox.push(message);
    });
    return { channel, inbox, setAside: [], retryAtMs: 0 };
  }

  private async watchLag(channel: Channel, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.deps.clock.sleep(LAG_EVERY_MS, signal);
        const { messageCount } = await channel.checkQueue(this.config.queue);
        if (!signal.aborted) this.current = { ...this.current, lag: messageCount };
      }
    } catch {
      // The session ended, or the check closed the channel, which ends it with the reason.
    }
  }

  private async read(session: Session, signal: AbortSignal): Promise<void> {
    const { inbox } = session;
    const batchMax = Math.max(1, Math.floor((this.config.prefetch ?? PREFETCH_DEFAULT) / 2));
    const within = { ms: LINGER_MS, clock: this.deps.clock };
    const wake = () => inbox.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        await inbox.wait(1, session.setAside.length > 0 ? { ms: SET_ASIDE_MS, clock: this.deps.clock } : undefined);
        if (!signal.aborted && inbox.size > 0) await inbox.wait(batchMax, within);
        if (signal.aborted) return;
        await this.retrySetAside(session, signal);
        if (inbox.size === 0) continue;
        const batch = inbox.take(batchMax).map((message) => ({ message, ...receive(message, this.config) }));
        await this.settle(session, batch, signal);
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  /** Commits a batch, then acknowledges it. Nothing is acknowledged that was not committed. */
  private async settle(session: Session, batch: InHand[], signal: AbortSignal): Promise<void> {
    try {
      await this.park(batch.map((one) => one.letter));
    } catch (error) {
      this.rejected(batch.length, error);
      if (batch.length > 1 && (await this.oneByOne(session, batch, signal))) return;
      await this.giveBackOrHold(session, batch, signal);
      return;
    }
    this.committed(session);
    acknowledge(session, batch);
  }

  private committed({ setAside }: Session): void {
    this.failures = 0;
    this.parkFails = false;
    const lastError =
      setAside.length === 0
        ? null
        : `${plural(setAside.length)} of ${this.config.queue} cannot be committed and stays in the queue`;
    this.current = { ...this.current, state: "running", lastError };
  }

  private rejected(count: number, error: unknown): void {
    this.parkFails = true;
    const lastError = `${plural(count)} of ${this.config.queue} could not be committed (${parkFailure(error)})`;
    this.current = { ...this.current, state: "failing", lastError };
    this.deps.report(`could not park ${plural(count)} of ${this.config.queue}`, error);
  }

  /**
   * One bad message must not hold up the others: each message is committed alone. False when no message could be
   * committed, which is an outage. Messages that fail while others succeed are set aside and tried again later.
   */
  private async oneByOne(session: Session, batch: InHand[], signal: AbortSignal): Promise<boolean> {
    const failed: InHand[] = [];
    let succeeded = 0;
    for (const one of batch) {
      if (signal.aborted) return true; // the other messages go back with the channel
      try {
        await this.park([one.letter]);
      } catch (error) {
        failed.push(one);
        if (succeeded === 0 && failed.length >= OUTAGE_AFTER) return false;
        this.deps.report(`could not park one message of ${this.config.queue}`, error);
        continue;
      }
      succeeded += 1;
      session.channel.ack(one.message);
    }
    if (succeeded === 0) return false;
    session.setAside.push(...failed);
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    this.committed(session);
    // A prefetch window full of messages set aside would stop the reading: the session ends, and begins anew after the pause.
    if (session.setAside.length >= (this.config.prefetch ?? PREFETCH_DEFAULT)) throw new ParkRejected();
    return true;
  }

  private async retrySetAside(session: Session, signal: AbortSignal): Promise<void> {
    if (session.setAside.length === 0 || this.deps.clock.nowMs() < session.retryAtMs) return;
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    for (const one of [...session.setAside]) {
      if (signal.aborted) return;
      try {
        await this.park([one.letter]);
      } catch (error) {
        this.deps.report(`could not park one message of ${this.config.queue}`, error);
        continue;
      }
      session.setAside = session.setAside.filter((other) => other !== one);
      session.channel.ack(one.message);
      this.committed(session);
    }
  }

  private async giveBackOrHold(session: Session, batch: InHand[], signal: AbortSignal): Promise<void> {
    const endangered = batch.some((one) => one.deliveryCount >= HOLD_FROM_DELIVERY_COUNT);
    if (!endangered) {
      session.channel.nackAll(true);
      throw new ParkRejected();
    }
    for (;;) {
      await this.pause(signal);
      if (signal.aborted) return;
      session.inbox.throwIfFailed(); // the broker has the messages back and delivers them again
      try {
        await this.park(batch.map((one) => one.letter));
      } catch (error) {
        this.rejected(batch.length, error);
        continue;
      }
      this.committed(session);
      acknowledge(session, batch);
      return;
    }
  }

  /** Returns unacknowledged messages. True when the broker has answered: it has then done all commands before this one. */
  private async handBack({ channel }: Session): Promise<boolean> {
    const late = Promise.withResolvers<false>();
    const stopTimer = this.deps.clock.timer(HAND_BACK_MS, () => late.resolve(false));
    try {
      channel.nackAll(true);
      return await Promise.race([channel.close().then(() => true), late.promise]);
    } catch {
      return false; // already closed: the broker has all unacknowledged messages back
    } finally {
      stopTimer();
    }
  }
}

function acknowledge({ channel, setAside }: Session, batch: InHand[]): void {
  // One frame for all, unless it would acknowledge an older delivery that was set aside.
  if (setAside.length === 0) channel.ack(batch.at(-1)!.message, true);
  else for (const { message } of batch) channel.ack(message);
}
