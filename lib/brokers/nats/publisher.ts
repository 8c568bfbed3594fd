import type { NatsConnection } from "@nats-io/transport-node";
import { abortable } from "@/lib/brokers/abortable";
import { isReferenceOnly } from "@/lib/brokers/conventions/convention";
import { HeldConnection } from "@/lib/brokers/held-connection";
import { answerOf, connectNats } from "@/lib/brokers/nats/connection";
import { addressOf, natsFault } from "@/lib/brokers/nats/fault";
import { asHeaders, headerBlock, unsendable } from "@/lib/brokers/nats/header-block";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
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
import { headerText, identityOf } from "@/lib/platform/plain/dead-letter.pure";

/** Last resort against a server that neither answers nor closes; the caller's signal is the real timeout. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Nothing was stored: the server says so, or the request never left. An answer that is lost leaves it open. */
const NOT_SENT = /^NATS_(\d{5}|NO_RESPONDERS|PERMISSIONS_VIOLATION|INVALID_\w+|MAX_PAYLOAD_EXCEEDED)$/;

type Connected = { nc: NatsConnection; close(): Promise<void> };

/** Publishes to JetStream and waits for each acknowledgement, many at a time over one connection. */
export class NatsPublisher implements Publisher {
  private readonly config: NatsConfig;
  private readonly lane: "main" | "slow";
  private readonly connections: HeldConnection<Connected>;

  constructor(config: NatsConfig, lane: "main" | "slow", deps: AdapterDeps) {
    this.config = config;
    this.lane = lane;
    this.connections = new HeldConnection<Connected>(
      async (signal) => {
        const nc = await connectNats(config, `parkade redrive (${lane})`, deps, signal);
        return { nc, close: () => nc.close().catch(() => undefined) };
      },
      ({ nc }) => !nc.isClosed(),
    );
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const { subject, block, payload } = outboundOf(message, this.config, this.lane);
    const { nc } = await this.connection(signal);
    const bytesMax = nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (block.length + payload.length > bytesMax)
      throw new PublishError(
        "NATS_MAX_PAYLOAD_EXCEEDED",
        `the message is larger than the ${bytesMax} bytes that the server takes (max_payload)`,
        { sent: "no" },
      );
    onPhase?.("connected");
    try {
      const sending = nc.request(subject, payload, { headers: asHeaders(block), timeout: ANSWER_TIMEOUT_MS });
      const { duplicate } = answerOf<{ duplicate?: boolean }>(await abortable(sending, signal));
      return duplicate ? { status: "stored before", deduplicated: true } : { status: "stored" };
    } catch (error) {
      signal.throwIfAborted();
      throw this.refusal(error, subject);
    }
  }

  private refusal(error: unknown, subject: string): PublishError {
    const fault = natsFault(error, this.config);
    const sent = NOT_SENT.test(fault.code) ? "no" : "maybe";
    const message =
      fault.code === "NATS_NO_RESPONDERS" ? `no stream accepts subject ${subject}` : `${subject}: ${fault.message}`;
    return new PublishError(fault.code, message, { sent, cause: error });
  }

  /** Rejects with PublishError, or with `signal.reason`. */
  private async connection(signal: AbortSignal): Promise<Connected> {
    try {
      return await this.connections.use(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (this.connections.closed) throw new PublishError("NATS_CLOSED", "the publisher is closed", { sent: "no" });
      const { code, message } = natsFault(error, this.config);
      throw new PublishError(code, message, { sent: "no", cause: error });
    }
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    return probed(signal, async () => {
      await this.connection(signal);
      return { detail: `connected to ${addressOf(this.config)}` };
    });
  }

  /** What waits for an answer is rejected. */
  close(): Promise<void> {
    return this.connections.close();
  }
}

type NatsOutbound = { subject: string; block: Buffer; payload: Uint8Array };

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

/** Words of the message or of an operator may stand in a subject: a wildcard there would be none for NATS. */
const SUBJECT = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

function subjectOf(
  { origin, headers }: OutboundMessage,
  { redriveTo, slowLaneSubject }: NatsConfig,
  lane: string,
): string {
  if (lane === "slow" && slowLaneSubject !== undefined) return slowLaneSubject;
  const { subject, subjectHeader, stripPrefix } = redriveTo ?? {};
  const named = headers.find(([name]) => name.toLowerCase() === subjectHeader?.toLowerCase());
  const readFrom = (origin.deadLetter as { subject?: unknown } | undefined)?.subject;
  const stripped =
    typeof readFrom === "string" && stripPrefix !== undefined && readFrom.startsWith(stripPrefix)
      ? readFrom.slice(stripPrefix.length)
      : null;
  const found = subject ?? (named && headerText(named)) ?? origin.subject ?? stripped;
  if (typeof found === "string" && SUBJECT.test(found)) return found;
  throw refuse(
    "NATS_NO_ORIGIN_SUBJECT",
    "the message does not name the subject it was published to: set redriveTo.subject, subjectHeader or stripPrefix in the source's configuration",
  );
}

/** The NATS message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
function outboundOf(message: OutboundMessage, config: NatsConfig, lane: "main" | "slow"): NatsOutbound {
  const { origin, redriveId, attempt, payload } = message;
  if (isReferenceOnly(origin))
    throw refuse("NATS_REFERENCE_ONLY", "the stream no longer held this message: there is nothing to send");
  const subject = subjectOf(message, config, lane);
  // The names of NATS are instructions to it: deduplication, expectations, schedules, expiry.
  const own = outboundHeaders(message).filter(([name]) => !/^nats-/i.test(name));
  const faulty = own.map(unsendable).find((fault) => fault !== null);
  if (faulty !== undefined) throw refuse("NATS_INVALID_HEADER", `${faulty}: change or remove it`);
  const id = `${encodeURIComponent(identityOf(message).toWellFormed())}:r${redriveId}:${attempt}`;
  const block = headerBlock([
    ...own,
    // A stream drops a message whose id it has seen in its window, and says that it was stored: each send has its own.
    ["Nats-Msg-Id", Buffer.from(id)],
    ...(config.redriveTo?.expectStream && typeof origin.stream === "string" && subject === origin.subject
      ? [["Nats-Expected-Stream", Buffer.from(origin.stream)] satisfies [string, Buffer]]
      : []),
  ]);
  return { subject, block, payload };
}
