import type { Channel, ChannelModel } from "amqplib";
import { abortable } from "@/lib/brokers/abortable";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { probed } from "@/lib/brokers/probe-sample";
import { addressText, amqpCode, closeConnection, openConnection } from "@/lib/brokers/rabbitmq/connection";
import { HeadersTooLargeError, publishExact } from "@/lib/brokers/rabbitmq/exact-properties";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { type AmqpOutbound, outboundOf } from "@/lib/brokers/rabbitmq/outbound";
import {
  forget,
  keyOf,
  type Link,
  noLongerAwaited,
  openLink,
  type Pending,
  remember,
} from "@/lib/brokers/rabbitmq/publish-link";
import { atMost, type Clock } from "@/lib/platform/clock";
import { identityOf } from "@/lib/platform/plain/dead-letter.pure";

/** For how long an exchange that was found counts as existing: a publish to a missing one closes the whole channel. */
const EXCHANGE_KNOWN_MS = 30_000;
/** A publish given up after this long without any confirm makes its connection suspect, so that the next one need not wait for the heartbeat. */
const SILENT_MS = 1_000;
/** How long `close` waits for confirms that are on their way. */
const CLOSE_GRACE_MS = 5_000;

type PublisherDeps = Pick<AdapterDeps, "clock" | "addresses">;

/** Publishes with `mandatory` and confirms over one channel, which the first publish opens, and the next one after a loss. */
export class RabbitmqPublisher implements Publisher {
  private readonly config: RabbitmqConfig;
  private readonly lane: "main" | "slow";
  private readonly clock: Clock;
  private readonly addresses: AdapterDeps["addresses"];
  private opening: Promise<Link> | null = null;
  private readonly links = new Set<Link>();
  private readonly exchanges = new Map<string, { untilMs: number; found: Promise<void> }>();
  private readonly closing = new AbortController();

  constructor(config: RabbitmqConfig, lane: "main" | "slow", deps: PublisherDeps) {
    this.config = config;
    this.lane = lane;
    this.clock = deps.clock;
    this.addresses = deps.addresses;
  }

  /** A broker answers with the confirm alone: there is no `answering` before it. */
  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const outbound = outboundOf(message, this.config, this.lane);
    const link = await abortable(this.link(), signal);
    if (link.blocked !== null)
      throw new PublishError("AMQP_BLOCKED", `the broker accepts no messages: ${link.blocked}`, { sent: "no" });
    if (outbound.to.exchange !== "") await abortable(this.mustExist(link, outbound.to.exchange), signal);
    while (link.draining !== null) await abortable(link.draining.promise, signal);
    onPhase?.("connected");
    const key = keyOf({ id: message.redriveId, attempt: String(message.attempt), eventId: identityOf(message) });
    return await this.send(link, key, outbound, signal);
  }

  private send(link: Link, key: string, outbound: AmqpOutbound, signal: AbortSignal): Promise<PublishReceipt> {
    const { promise, resolve, reject } = Promise.withResolvers<PublishReceipt>();
    const aborted = () => {
      pending.abandoned = true;
      noLongerAwaited(link);
      this.suspect(link, pending);
      reject(signal.reason);
    };
    const pending: Pending = {
      sentAtMs: this.clock.nowMs(),
      returned: null,
      abandoned: false,
      settle: (outcome) => {
        signal.removeEventListener("abort", aborted);
        if (outcome instanceof PublishError) reject(outcome);
        else resolve(outcome);
      },
    };
    const confirmed = (error: Error | null) => {
      forget(link, key, pending);
      pending.settle(this.outcomeOf(link, pending, outbound, error));
    };
    try {
      const room = publishExact(link.channel, outbound.to, outbound, confirmed);
      if (!room) link.draining ??= Promise.withResolvers();
    } catch (error) {
      throw this.unsendable(link, error);
    }
    remember(link, key, pending);
    signal.addEventListener("abort", aborted, { once: true });
    return promise;
  }

  private outcomeOf(
    link: Link,
    pending: Pending,
    { to }: AmqpOutbound,
    error: Error | null,
  ): PublishReceipt | PublishError {
    if (pending.returned !== null)
      return new PublishError(
        "AMQP_NO_ROUTE",
        to.exchange === ""
          ? `there is no queue ${to.routingKey} (${pending.returned})`
          : `no queue is bound to exchange ${to.exchange} for key ${to.routingKey} (${pending.returned})`,
        { sent: "no" },
      );
    if (error === null) {
      link.confirmedAtMs = this.clock.nowMs();
      return { status: "confirmed" };
    }
    if (link.nacking)
      return new PublishError("AMQP_NACK", `the broker refused the message for ${to.routingKey || to.exchange}`, {
        // One queue has refused it. Other queues of the exchange may have taken it.
        sent: to.exchange === "" ? "no" : "maybe",
        cause: error,
      });
    // This message may have arrived before the link ended, and another message may have ended the link.
    return new PublishError(
      "AMQP_CONFIRM_LOST",
      `the connection to ${addressText(this.config.url)} was lost before the broker confirmed the message`,
      { sent: "maybe", cause: link.failure ?? error },
    );
  }

  private unsendable(link: Link, error: unknown): PublishError {
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof HeadersTooLargeError)
      return new PublishError("AMQP_HEADERS_TOO_LARGE", text, { sent: "no", cause: error });
    // amqplib refuses to write on a channel that was closed after the check above.
    if (!link.open) return new PublishError("AMQP_NOT_CONNECTED", text, { sent: "no", cause: error });
    return new PublishError("AMQP_INVALID_MESSAGE", text, { sent: "no", cause: error });
  }

  /** The link in use, opened when there is none. Rejects with PublishError. */
  private link(): Promise<Link> {
    if (this.closing.signal.aborted)
      return Promise.reject(new PublishError("AMQP_CLOSED", "the publisher is closed", { sent: "no" }));
    if (this.opening === null) {
      const opening = this.open().catch((error: unknown) => {
        if (this.opening === opening) this.opening = null;
        throw new PublishError(amqpCode(error), error instanceof Error ? error.message : String(error), {
          sent: "no",
          cause: error,
        });
      });
      this.opening = opening;
    }
    return this.opening;
  }

  private async open(): Promise<Link> {
    const model = await openConnection(this.config, {
      name: `parkade redrive (${this.lane})`,
      clock: this.clock,
      signal: this.closing.signal,
      addresses: this.addresses,
    });
    try {
      const channel = await model.createConfirmChannel({ highWaterMark: 4096 });
      const link = openLink(model, channel, { nowMs: this.clock.nowMs(), ended: (gone) => this.ended(gone) });
      this.links.add(link);
      return link;
    } catch (error) {
      await closeConnection(model, this.clock);
      throw error;
    }
  }

  private ended(link: Link): void {
    this.links.delete(link);
    this.retire(link);
    // A closed channel leaves its connection open; it has no other use.
    void closeConnection(link.model, this.clock);
  }

  /** Starts no new publish on this link; publishes under way keep it. */
  private retire(link: Link): void {
    const current = this.opening;
    if (current === null) return;
    void current.then(
      (open) => {
        if (open === link && this.opening === current) this.opening = null;
      },
      () => undefined, // a failed opening clears itself
    );
  }

  private suspect(link: Link, pending: Pending): void {
    const silentMs = this.clock.nowMs() - Math.max(pending.sentAtMs, link.confirmedAtMs);
    if (silentMs < SILENT_MS || link.blocked !== null) return;
    this.retire(link);
    // Publishes under way get the time of an ordinary close, then count as lost.
    void this.finish(link);
  }

  private async finish(link: Link): Promise<void> {
    if (link.open && link.awaited > 0) {
      const settled = new Promise<void>((resolve) => {
        link.idle = resolve;
      });
      await atMost(this.clock, CLOSE_GRACE_MS, settled);
    }
    await closeConnection(link.model, this.clock);
  }

  /** Looks an exchange up on a channel of its own, whose loss costs nothing. Rejects with PublishError. */
  private mustExist(link: Link, exchange: string): Promise<void> {
    const known = this.exchanges.get(exchange);
    if (known !== undefined && known.untilMs > this.clock.nowMs()) return known.found;
    const found = this.lookUp(link, exchange);
    this.exchanges.set(exchange, { untilMs: this.clock.nowMs() + EXCHANGE_KNOWN_MS, found });
    found.catch(() => this.exchanges.delete(exchange));
    return found;
  }

  private async lookUp(link: Link, exchange: string): Promise<void> {
    try {
      await withChannel(link.model, (channel) => channel.checkExchange(exchange));
    } catch (error) {
      const code = amqpCode(error);
      throw new PublishError(
        code,
        code === "AMQP_NOT_FOUND" ? `there is no exchange ${exchange}` : `cannot look up exchange ${exchange}`,
        { sent: "no", cause: error },
      );
    }
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const address = addressText(this.config.url);
    return probed(signal, async () => {
      const link = await abortable(this.link(), signal);
      if (link.blocked !== null)
        return { reachable: false, detail: `${address} accepts no messages at the moment: ${link.blocked}` };
      const queue = this.fixedQueue();
      const detail = `connected to ${address}`;
      if (queue === null) return { detail: detail + (await this.fanOutNote(link, signal)) };
      const { messageCount } = await abortable(
        withChannel(link.model, (channel) => channel.checkQueue(queue)),
        signal,
      );
      return { detail: `${detail}, queue ${queue}`, depth: messageCount };
    });
  }

  /** A broker does not tell how many queues are bound: only its management API knows. */
  private async fanOutNote(link: Link, signal: AbortSignal): Promise<string> {
    const { redriveTo, slowLaneQueue } = this.config;
    if (redriveTo?.mode !== "exchange" || (this.lane === "slow" && slowLaneQueue !== undefined)) return "";
    if (redriveTo.exchange) await abortable(this.mustExist(link, redriveTo.exchange), signal);
    const exchange = redriveTo.exchange === undefined ? "its origin exchange" : `exchange ${redriveTo.exchange}`;
    return `; every queue bound to ${exchange} gets the message again, also where it was processed`;
  }

  /** The queue that this lane delivers to, when the configuration names one. */
  private fixedQueue(): string | null {
    const { redriveTo, slowLaneQueue } = this.config;
    if (this.lane === "slow" && slowLaneQueue !== undefined) return slowLaneQueue;
    return redriveTo?.mode === "exchange" ? null : (redriveTo?.queue ?? null);
  }

  async close(): Promise<void> {
    this.closing.abort(new PublishError("AMQP_CLOSED", "the publisher is closed", { sent: "no" }));
    // An opening that fails now has nothing to close.
    await this.opening?.catch(() => undefined);
    this.opening = null;
    await Promise.all([...this.links].map((link) => this.finish(link)));
  }
}

/** Runs a passive declaration on a channel of its own: a failed one closes its channel. */
async function withChannel<T>(model: ChannelModel, work: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await model.createChannel();
  let open = true;
  channel.on("error", () => undefined); // the rejected call carries the same error
  channel.on("close", () => {
    open = false;
  });
  try {
    return await work(channel);
  } finally {
    if (open) await channel.close().catch(() => undefined); // lost with its connection
  }
}
