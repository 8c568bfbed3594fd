import type { ConsumerWord, SourceMode } from "@/lib/brokers/source-mode.pure";
import type { AddressFilter } from "@/lib/platform/address-filter";
import type { Clock } from "@/lib/platform/clock";
import type { DeadLetter, Header, Origin } from "@/lib/platform/plain/dead-letter.pure";

/** The message of one attempt. Payload and content type are equal to the parked ones, byte for byte. */
export type OutboundMessage = {
  eventId: string;
  /** See `DeadLetter.producer`. What a wire deduplicates by is `identityOf`. */
  producer?: string;
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  origin: Origin;
  /** The same for every repeat of one revision of an event: see `sendKey`. */
  idempotencyKey: string;
  redriveId: string;
  /** 1-based count of sends of this event within this redrive. */
  attempt: number;
  /** Repeats so far by all senders; above 0 it is sent as x-retry-count, against which services count their own limits. Absent = unknown. */
  retryCount?: number;
  /** The revision that this is; absent = the first. Another one goes out as x-redrive-revision. */
  revision?: number;
  /** The event has several revisions: what lies at its origin may be another one than this. */
  revised?: boolean;
  /** `<source name>`; goes out as x-redrive-from. */
  from: string;
  traceId: string | null;
  /**
   * The span of this send, when sends are traced. It stands among the headers, too, in place of the parked one.
   */
  traceparent?: string;
  /** No parked header made room for it: a wire that has none left leaves it out, since no send fails by its trace. */
  traceparentAdded?: boolean;
  eventType?: string | null;
  aggregateId?: string | null;
};

/** The sink accepted the message: an HTTP 2xx, or a publisher confirm without a returned message. */
export type PublishReceipt = {
  status: string;
  /** The sink had taken the message before and says so: nothing new happened there. */
  deduplicated?: boolean;
  /** The record of a log that the message became (`recordPlace`), where a dead letter names it. */
  record?: string;
};

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

export type SampledMessage = {
  headers: Header[];
  /** The broker's own properties with a text form, by the name that a mapping gives after `property:`. */
  properties: Record<string, string>;
  /** null: it is no text, or too long for a sample. */
  payload: string | null;
};

export type SampleFacts = {
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  /** Decimal text: a version may be beyond 2^53. */
  version: string | null;
  eventType: string | null;
  errorCode: string;
  tags: Record<string, string>;
};

/** One message as a probe would park it, without consuming it. */
export type ProbeSample = SampleFacts & {
  errorType: string | null;
  convention: string;
  contentType: string;
  payloadBytes: number;
  /** What a mapping is tried on: the message, and its facts without a mapping. */
  message: SampledMessage;
  customary: SampleFacts;
};

/**
 * How far a send has come: from `connected` on its bytes may have left; `answering` = the answer has begun. `authorizing`: it waits for
 * a token, before its first byte or after a refusal of all of them; the later phases follow.
 */
export type PublishPhase = "authorizing" | "connected" | "answering";
export type OnPhase = (phase: PublishPhase) => void;

/** An event about which the owner of a target is asked; all but the payload goes out as JSON. */
export type CheckedEvent = {
  /** Parkade's id of the event. */
  id: string;
  revision: number;
  /** The Idempotency-Key of its send. */
  key: string;
  eventType: string | null;
  aggregateType: string | null;
  aggregateId: string | null;
  version: string | null;
  contentType: string;
  payload: Uint8Array;
};

/** What the owner of a target answers about one event; `unanswered`: why there is no answer. */
export type CheckAnswer =
  | { take: true }
  | { take: false; reason: string; pointer: string | null }
  | { unanswered: string };

/** Asks the owner of a target whether they would take events. Nothing is sent. */
export interface OwnerCheck {
  /** In the order of the events. Rejects only with `signal.reason`. */
  ask(events: readonly CheckedEvent[], signal: AbortSignal): Promise<CheckAnswer[]>;
  /** Events without an answer are refused. */
  readonly refusesUnanswered: boolean;
  close(): Promise<void>;
}

export type ParkedHeaders = Pick<OutboundMessage, "headers" | "origin">;

/** Sends messages to one target. Safe for concurrent use. */
export interface Publisher {
  /**
   * Rejects with PublishError, or with `signal.reason` when aborted. `onPhase` is called with each phase as it begins, in
   * order, and once unless a refused token is replaced: a policy may bound the time to connect and to the first byte of an answer.
   */
  publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt>;
  /** Cheap reachability check for the dry run. */
  probe(signal: AbortSignal): Promise<ProbeResult>;
  /** Absent: its owner has no check endpoint. */
  readonly ownerCheck?: OwnerCheck;
  /** Parked headers that the wire cannot carry, each name in quotation marks: a send leaves them out. Absent: it leaves none out. */
  leftOut?(message: ParkedHeaders): string[];
  close(): Promise<void>;
}

/**
 * Hands over what was read. Resolves after the batch is committed to Postgres; only then is it acknowledged. A rejection
 * means nothing was committed: the batch stays unacknowledged. The code `invalid-request` says that the store refuses the
 * values of a message; every other rejection may be an outage. `keepsAcknowledged` is that of the session.
 */
export type ParkBatch = (batch: DeadLetter[], facts?: { keepsAcknowledged: boolean }) => Promise<void>;

/** One part of what a source reads: a partition of a topic, a shard. */
type Part = {
  name: string;
  /** null: unknown. */
  lag: number | null;
  /** Messages of it that were acknowledged since this consumer has it; null: it is not read. */
  parked: number | null;
};
type PartState = Part & {
  /** Messages of it that cannot be committed and stay in the broker. */
  setAside: number;
};

export type ConsumerState = {
  state: ConsumerWord;
  /** Messages not parked yet, those in hand included; null when unknown. */
  lag: number | null;
  /** null again once it is over. */
  lastError: string | null;
  lastErrorAtMs: number | null;
  /** When the next attempt begins, epoch milliseconds; null unless the consumer waits for it. */
  retryAtMs: number | null;
  /** Messages committed and acknowledged since this consumer started. */
  parked: number;
  /** The parts this consumer reads now; empty where the broker has none. */
  parts: PartState[];
};

/** The modes of a source that a consumer knows: a stopped source has none. */
export type ReadMode = Exclude<SourceMode, "stopped">;

/** Reads one source for as long as it is not stopped, reconnecting with backoff. */
export interface Consumer {
  state(): ConsumerState;
  /** Changes the mode. What is in hand is finished, or goes back to the broker when the source is paused. */
  steer(mode: ReadMode): void;
  /** Ends the present pause between two attempts. */
  retryNow(): void;
  /** Stops reading, lets the batch in hand finish or returns it to the broker, then closes. */
  stop(): Promise<void>;
}

/** A message in hand: handed out by the broker, not acknowledged. `Handle` is what the adapter acknowledges it by. */
export type Taken<Handle> = {
  letter: DeadLetter;
  handle: Handle;
  /** How often the broker has handed it out before and got it back; 0 = never, or it does not count. */
  deliveries: number;
};

export type Lag = { total: number | null; parts: Part[] };

/** Used by the park loop alone, one call at a time; only `lag` may overlap, and see `readsAhead`. After a lost connection every call rejects with the cause. */
export interface ReadSession<Handle> {
  /**
   * Waits for messages: resolves with at least one and at most `max`, soon after the first is there, in the order of the
   * broker. Resolves with none when `signal` fires or when `withinMs` has passed without one.
   */
  take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<Handle>[]>;
  /**
   * Acknowledges committed messages, in any order and in parts of what was taken. Where the broker knows only a position
   * (Kafka), the adapter moves it no further than the oldest message that is not acknowledged.
   */
  acknowledge(handles: readonly Handle[]): Promise<void>;
  /** Messages that may be unacknowledged at a time: beyond it the broker hands out none. Infinity = no bound. */
  readonly inHandMax: number;
  /** `take` may also overlap the commit and the acknowledgement of the batch before. Absent = it may not. */
  readonly readsAhead?: boolean;
  /** The broker keeps messages that were acknowledged, as a log does. Absent = they are gone. */
  readonly keepsAcknowledged?: boolean;
  lag(): Promise<Lag>;
  /** The name of the part that a message is of. Absent: the broker has no parts. */
  partOf?(handle: Handle): string;
  /** False: the broker has taken this message back and hands it out again. Absent: a session keeps its messages until it ends. */
  holds?(handle: Handle): boolean;
  /** Throws the cause when the connection is gone: the broker then has everything back that was not acknowledged. */
  assertOpen(): void;
  /** Ends the session; unacknowledged messages return to the broker. Bounded in time. `graceful`: the broker is worth some seconds' wait. */
  close(graceful: boolean): Promise<void>;
}

export interface Reader<Handle = unknown> {
  /** What is read, for people and the log: `queue orders.dlq`. Holds no secret. */
  readonly what: string;
  /** Messages of one commit at most. */
  readonly batchMax: number;
  /** From this delivery count on a failed batch is held: the broker drops a message after too many returns. Infinity = returning is harmless. */
  readonly holdFromDeliveries: number;
  /** Connects. Rejects with the broker's error; never creates what is missing. `tell` reports what does not prevent reading. */
  open(signal: AbortSignal, tell: (notice: string) => void): Promise<ReadSession<Handle>>;
  /** An error of this reader in words that name the cause and the fix. No secrets. */
  describe(error: unknown): string;
}

/** The adapter of one kind: everything that talks to its broker. Configurations have their secrets resolved. */
export interface Adapter<Config> {
  /** null: events of this kind come by Parkade's API. `source`: its name, for consumer groups and durable consumers. */
  readonly reader: ((config: Config, source: string) => Reader) | null;
  /** Can we reach it, and what would we read? Never consumes. Rejects only with `signal.reason`. */
  probe(config: Config, signal: AbortSignal): Promise<ProbeResult>;
  /** A publisher to the main destination, or to the slow-lane one, which defaults to the main one. */
  publisher(config: Config, lane?: "main" | "slow"): Publisher;
  /** See Publisher. Needs no secret. Absent: a header that cannot be carried fails the send by its name. */
  leftOut?(config: Config, message: ParkedHeaders): string[];
}

export type AdapterDeps = {
  clock: Clock;
  /** Uniform in [0, 1), for jitter. */
  random: () => number;
  /** Which addresses may be connected to; `DEFAULT_ADDRESSES` when it is left out. */
  addresses?: AddressFilter;
};
