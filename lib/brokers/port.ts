import type { DeadLetter, Header, Origin } from "@/lib/core/dead-letter";

/** The message of one attempt. Payload and content type are equal to the parked ones, byte for byte. */
export type OutboundMessage = {
  eventId: string;
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  origin: Origin;
  /** `<source>:<eventId>`: the same for every repeat of the same event. */
  idempotencyKey: string;
  redriveId: string;
  /** 1-based count of sends of this event within this redrive. */
  attempt: number;
  /**
   * How often this message has been repeated, by its senders before and by Parkade. Above 0 it goes out as x-retry-count, in
   * place of a parked one: the services behind Parkade count it against their own limits. Absent = unknown.
   */
  retryCount?: number;
  /** `<source name>`; goes out as x-redrive-from. */
  from: string;
  traceId: string | null;
};

/** The sink accepted the message: an HTTP 2xx, or a publisher confirm without a returned message. */
export type PublishReceipt = { status: string };

/**
 * A failed publish. `sent` says what is known of the effect: `no` = surely not accepted, safe to repeat;
 * `maybe` = the bytes may have arrived (ambiguous). The retry engine classifies by `code` and `status`, never by text.
 */
export class PublishError extends Error {
  /** `HTTP_503`, `AMQP_NO_ROUTE`, `ECONNREFUSED`, `ETIMEDOUT`, ... upper snake case. */
  readonly code: string;
  readonly status: number | null;
  readonly sent: "no" | "maybe";
  /** Raw Retry-After header value, if the sink gave one. */
  readonly retryAfter: string | null;
  /** Raw value of a hint in milliseconds, if the sink gave one. */
  readonly retryAfterMs: string | null;
  /** Raw gRPC pushback: milliseconds, or anything else to forbid the repeat. */
  readonly pushback: string | string[] | null;

  constructor(
    code: string,
    message: string,
    facts: {
      status?: number;
      sent: "no" | "maybe";
      retryAfter?: string | null;
      retryAfterMs?: string | null;
      pushback?: string | string[] | null;
      cause?: unknown;
    },
  ) {
    super(message, { cause: facts.cause });
    this.name = "PublishError";
    this.code = code;
    this.status = facts.status ?? null;
    this.sent = facts.sent;
    this.retryAfter = facts.retryAfter ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.pushback = facts.pushback ?? null;
  }
}

export type ProbeResult =
  | { reachable: true; detail: string; depth: number | null; sample: ProbeSample[] }
  | { reachable: false; detail: string };

/** One message as a probe would read it, without consuming it. */
export type ProbeSample = { eventId: string; errorCode: string; convention: string; payloadBytes: number };

/** How far a send has come: from `connected` on its bytes may have left; `answering` = the answer has begun. */
export type PublishPhase = "connected" | "answering";

/** Sends messages to one target. Safe for concurrent use. */
export interface Publisher {
  /**
   * Rejects with PublishError, or with `signal.reason` when aborted. `onPhase` is called with each phase as it begins, once
   * and in order: a policy may bound the time to connect and to the first byte of an answer.
   */
  publish(
    message: OutboundMessage,
    signal: AbortSignal,
    onPhase?: (phase: PublishPhase) => void,
  ): Promise<PublishReceipt>;
  /** Cheap reachability check for the dry run. */
  probe(signal: AbortSignal): Promise<ProbeResult>;
  close(): Promise<void>;
}

/**
 * Hands over what was read from the DLQ. Resolves after the batch is committed to Postgres; only then does the adapter
 * acknowledge it. A rejection means nothing was committed: the adapter returns the whole batch to the broker.
 */
export type ParkBatch = (batch: DeadLetter[]) => Promise<void>;

export type ConsumerState = {
  state: "connecting" | "running" | "stopped" | "failing";
  /** Messages waiting in the DLQ, null when unknown. */
  lag: number | null;
  lastError: string | null;
};

/** Reads one DLQ for as long as it is not stopped, reconnecting with backoff. */
export interface Consumer {
  state(): ConsumerState;
  /** Stops reading, lets the batch in hand finish or returns it to the broker, then closes. */
  stop(): Promise<void>;
}

export interface Broker<Config> {
  readonly kind: string;
  consume(config: Config, park: ParkBatch): Consumer;
  /** Can we reach it, and what would we read? Never consumes. */
  probe(config: Config, signal: AbortSignal): Promise<ProbeResult>;
  /**
   * A publisher to the source's main destination (the default) or to its slow-lane one. A source without a slow-lane
   * destination uses the main one for both. `config` has its secrets resolved.
   */
  publisher(config: Config, lane?: "main" | "slow"): Publisher;
}
