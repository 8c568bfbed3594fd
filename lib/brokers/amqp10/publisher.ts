import type { AmqpError, Connection, Delivery, Sender } from "rhea";
import { abortable } from "@/lib/brokers/abortable";
import {
  Amqp10Fault,
  amqp10Code,
  closeAmqp10,
  describeAmqp10,
  hostOf,
  onEnd,
  openAmqp10,
} from "@/lib/brokers/amqp10/connection";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { type Amqp10Outbound, outboundOf } from "@/lib/brokers/amqp10/outbound";
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
import type { Clock } from "@/lib/platform/clock";

/** How long `close` waits for answers that are on their way. */
const CLOSE_GRACE_MS = 5_000;
/** Links that one connection keeps: a source with more origin addresses than this closes the oldest. */
const LINKS_MAX = 64;

type Settle = (outcome: PublishReceipt | PublishError) => void;

type Link = {
  sender: Sender;
  /** Resolves when there may be credit; made anew each time. */
  credit: PromiseWithResolvers<void>;
  cause: unknown;
  pending: Map<Delivery, Settle>;
  open: boolean;
};

type Connected = {
  connection: Connection;
  links: Map<string, Link>;
  open: boolean;
  /** A caller gave up before it had an answer: the next publish opens another connection. */
  suspect: boolean;
};

function wakeWaiting(link: Link): void {
  link.credit.resolve();
  link.credit = Promise.withResolvers();
}

/** Sends to addresses of one broker, each message settled by its outcome. */
export class Amqp10Publisher implements Publisher {
  private readonly config: Amqp10Config;
  private readonly lane: "main" | "slow";
  private readonly clock: Clock;
  private readonly addresses: AdapterDeps["addresses"];
  private opening: Promise<Connected> | null = null;
  private readonly connected = new Set<Connected>();
  private readonly closing = new AbortController();

  constructor(
    config: Amqp10Config,
    lane: "main" | "slow",
    { clock, addresses }: Pick<AdapterDeps, "clock" | "addresses">,
  ) {
    this.config = config;
    this.lane = lane;
    this.clock = clock;
    this.addresses = addresses;
  }

  /** A broker answers with the outcome alone: there is no `answering` before it. */
  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const outbound = outboundOf(message, this.config, this.lane);
    const connected = await abortable(this.connect(), signal);
    const link = this.linkTo(connected, outbound.to);
    await this.whenSendable(link, outbound, signal);
    onPhase?.("connected");
    const sizeMax = link.sender.max_message_size ?? 0;
    if (sizeMax > 0 && outbound.bytes.length > sizeMax)
      throw new PublishError(
        "AMQP_CONTENT_TOO_LARGE",
        `the message has ${outbound.bytes.length} bytes, ${outbound.to} takes ${sizeMax}`,
        { sent: "no" },
      );
    return await this.send(connected, link, outbound, signal);
  }

  private send(connected: Connected, link: Link, { bytes }: Amqp10Outbound, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<PublishReceipt>();
    const aborted = () => {
      connected.suspect = true; // unless an answer comes after all
      reject(signal.reason);
    };
    signal.addEventListener("abort", aborted, { once: true });
    const delivery = link.sender.send(bytes as never, undefined, 0);
    link.pending.set(delivery, (outcome) => {
      signal.removeEventListener("abort", aborted);
      link.pending.delete(delivery);
      if (!(outcome instanceof PublishError)) resolve(outcome);
      else reject(outcome);
      if (!(outcome instanceof PublishError) || outcome.code !== "AMQP_CONFIRM_LOST") connected.suspect = false;
    });
    return promise;
  }

  private async whenSendable(link: Link, { to }: Amqp10Outbound, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        if (!link.open) throw link.cause;
        if (link.sender.sendable()) return;
        await abortable(link.credit.promise, signal);
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new PublishError(amqp10Code(error), describeAmqp10(error, this.config, to), { sent: "no", cause: error });
    }
  }

  private linkTo(connected: Connected, to: string): Link {
    const held = connected.links.get(to);
    if (held?.open) return held;
    const oldest = connected.links.size >= LINKS_MAX ? connected.links.entries().next().value : undefined;
    if (oldest !== undefined && oldest[1].pending.size === 0) {
      connected.links.delete(oldest[0]);
      oldest[1].open = false;
      oldest[1].sender.close();
    }
    // A session of its own: a link without credit would hold up the others of its session.
    const session = connected.connection.create_session();
    session.begin();
    const sender = session.open_sender({ target: { address: to } });
    const link: Link = { sender, credit: Promise.withResolvers(), pending: new Map(), open: true, cause: null };
    connected.links.set(to, link);
    const settle = (delivery: Delivery | undefined, outcome: PublishReceipt | PublishError) => {
      if (delivery !== undefined) link.pending.get(delivery)?.(outcome);
      wakeWaiting(link); // an answer makes room in the session
    };
    sender.on("sendable", () => wakeWaiting(link));
    sender.on("accepted", ({ delivery }) => settle(delivery, { status: "accepted" }));
    sender.on("rejected", ({ delivery }) => settle(delivery, this.rejected(delivery, to)));
    sender.on("released", ({ delivery }) =>
      settle(delivery, new PublishError("AMQP_NACK", `the broker gave the message for ${to} back`, { sent: "no" })),
    );
    const ended = (error: unknown) => this.linkEnded(connected, link, to, error);
    sender.on("sender_error", () => ended(sender.error));
    sender.on("sender_close", () => ended(sender.error));
    session.on("session_error", () => ended(session.error));
    session.on("session_close", () => ended(session.error));
    return link;
  }

  private rejected(delivery: Delivery | undefined, to: string): PublishError {
    const { error } = (delivery?.remote_state ?? {}) as { error?: AmqpError };
    if (!error?.condition)
      return new PublishError("AMQP_NACK", `the broker rejected the message for ${to}`, { sent: "no" });
    return new PublishError(amqp10Code(error), describeAmqp10(error, this.config, to), {
      sent: "no",
      cause: error,
    });
  }

  /** A refused link has sent nothing. Of one that worked until now, each message without an outcome may have arrived. */
  private linkEnded(connected: Connected, link: Link, to: string, error: unknown): void {
    if (connected.links.get(to) === link) connected.links.delete(to);
    if (!link.open) return;
    link.open = false;
    const cause = error ?? new Amqp10Fault("AMQP_NOT_CONNECTED", `lost ${hostOf(this.config)}`);
    link.cause = cause;
    wakeWaiting(link);
    const code = amqp10Code(cause);
    const refusedOne = code === "AMQP_CONTENT_TOO_LARGE" && link.pending.size === 1;
    for (const settle of [...link.pending.values()])
      settle(
        refusedOne
          ? new PublishError(code, describeAmqp10(cause, this.config, to), { sent: "no", cause })
          : new PublishError(
              "AMQP_CONFIRM_LOST",
              `the link to ${to} ended before the broker answered: ${describeAmqp10(cause, this.config, to)}`,
              { sent: "maybe", cause },
            ),
      );
  }

  /** The connection in use, opened when there is none. Rejects with PublishError. */
  private async connect(): Promise<Connected> {
    if (this.closing.signal.aborted) throw new PublishError("AMQP_CLOSED", "the publisher is closed", { sent: "no" });
    const held = await this.opening?.catch(() => null);
    if (held?.open && !held.suspect) return held;
    if (held && this.opening !== null && (await this.opening.catch(() => null)) === held) {
      this.opening = null;
      if (held.open) void this.finish(held);
    }
    if (this.opening === null) {
      const opening = this.open();
      this.opening = opening;
      opening.catch(() => {
        if (this.opening === opening) this.opening = null;
      });
    }
    return await this.opening;
  }

  private async open(): Promise<Connected> {
    try {
      const name = `parkade-redrive-${this.lane}`;
      const { clock, addresses } = this;
      const connection = await openAmqp10(this.config, { name, clock, signal: this.closing.signal, addresses });
      const connected: Connected = { connection, links: new Map(), open: true, suspect: false };
      this.connected.add(connected);
      onEnd(connection, (error) => {
        connected.open = false;
        this.connected.delete(connected);
        for (const [to, link] of [...connected.links]) this.linkEnded(connected, link, to, error);
      });
      return connected;
    } catch (error) {
      if (error instanceof PublishError) throw error;
      const { message } = error as Error;
      throw new PublishError(amqp10Code(error), message, { sent: "no", cause: error });
    }
  }

  /** Waits for answers that are on their way, then closes; what has none then may have arrived. */
  private async finish(connected: Connected): Promise<void> {
    const pending = () => [...connected.links.values()].some((link) => link.pending.size > 0);
    const late = new AbortController();
    const stopTimer = this.clock.timer(CLOSE_GRACE_MS, () => late.abort());
    try {
      while (connected.open && pending() && !late.signal.aborted) await this.clock.sleep(20, late.signal);
    } catch {
      // The time is over.
    } finally {
      stopTimer();
    }
    await closeAmqp10(connected.connection, this.clock);
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const to = (this.lane === "slow" ? this.config.slowLaneAddress : undefined) ?? this.config.redriveTo?.address;
    return probed(signal, async () => {
      const connected = await abortable(this.connect(), signal);
      // The link tells whether the address exists and may be written to; nothing is sent.
      if (to !== undefined) await this.whenSendable(this.linkTo(connected, to), { to, bytes: Buffer.alloc(0) }, signal);
      return { detail: `connected to ${hostOf(this.config)}${to === undefined ? "" : `, address ${to}`}` };
    });
  }

  async close(): Promise<void> {
    this.closing.abort(new PublishError("AMQP_CLOSED", "the publisher is closed", { sent: "no" }));
    await this.opening?.catch(() => undefined);
    this.opening = null;
    await Promise.all([...this.connected].map((connected) => this.finish(connected)));
  }
}
