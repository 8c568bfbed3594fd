import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
} from "@aws-sdk/client-sqs";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { SqsQueues, tens } from "@/lib/brokers/sqs/client";
import { SqsError } from "@/lib/brokers/sqs/failure";
import { isFifo, queueName, type SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { sqsMessage } from "@/lib/brokers/sqs/message";
import { atMost, type Clock } from "@/lib/platform/clock";

/** Messages of one commit at most: several requests of ten. */
const BATCH_MAX = 200;
/** Requests for messages, or to delete them, at a time. */
const PARALLEL = 10;
/** Messages of one request: a limit of SQS. */
const RECEIVE_MAX = 10;
/** Messages in hand at most. SQS itself allows 120,000 of a standard queue and 20,000 of a FIFO queue. */
const IN_HAND_MAX = 1_000;
/** How long a request waits for the first message: the longest that SQS allows, and the cheapest. */
const WAIT_SECONDS = 20;
const VISIBILITY_SECONDS_DEFAULT = 60;
/**
 * SQS hides a message for 12 h after its receipt, however often that is extended, and refuses to extend it beyond. A message
 * that is still in hand is given back before, and received again. The margin is for the way of request and answer.
 */
const HIDDEN_MS_MAX = 12 * 3_600_000;
const MARGIN_MS = 30_000;
/** How long, on stop, SQS may take to make the messages in hand visible again. */
const HAND_BACK_MS = 2_000;
/** The receipt is of an earlier delivery: SQS has handed the message out again, or deleted it. */
const GONE = /^SQS_(RECEIPT_HANDLE_IS_INVALID|MESSAGE_NOT_INFLIGHT|INVALID_PARAMETER_VALUE)$/;

/** A message in hand. Hidden from others until `untilMs` on the monotonic clock, and never longer than `limitMs`. */
type InHand = { receipt: string; untilMs: number; limitMs: number };

export function sqsReader(config: SqsConfig, deps: AdapterDeps): Reader<InHand> {
  return {
    what: `queue ${queueName(config.queue)}`,
    batchMax: BATCH_MAX,
    // Only a dead-letter queue that has one itself counts deliveries: there, `deliveries` is above 0.
    holdFromDeliveries: 1,
    open: async (signal) => {
      const queues = new SqsQueues(config, deps);
      try {
        const url = await queues.urlOf(config.queue, { abortSignal: signal });
        const facts = await queues.factsOf(config.queue, { abortSignal: signal });
        return new QueueSession(queues, url, config, {
          clock: deps.clock,
          countsDeliveries: facts?.countsDeliveries ?? false,
        });
      } catch (error) {
        queues.close();
        throw error;
      }
    },
    describe: (error) =>
      error instanceof SqsError ? error.message : `reading failed (${error instanceof Error ? error.name : "unknown"})`,
  };
}

type SessionDeps = { clock: Clock; countsDeliveries: boolean };

class QueueSession implements ReadSession<InHand> {
  readonly inHandMax = IN_HAND_MAX;
  private readonly queues: SqsQueues;
  private readonly url: string;
  private readonly config: SqsConfig;
  private readonly clock: Clock;
  private readonly countsDeliveries: boolean;
  private readonly visibilitySeconds: number;
  /** In the order in which SQS handed them out. */
  private readonly inHand = new Set<InHand>();
  private readonly closing = new AbortController();
  private failure: { error: unknown } | null = null;

  constructor(queues: SqsQueues, url: string, config: SqsConfig, { clock, countsDeliveries }: SessionDeps) {
    this.queues = queues;
    this.url = url;
    this.config = config;
    this.clock = clock;
    this.countsDeliveries = countsDeliveries;
    this.visibilitySeconds = config.visibilitySeconds ?? VISIBILITY_SECONDS_DEFAULT;
    void this.keepHidden();
  }

  async take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<InHand>[]> {
    const untilMs = withinMs === undefined ? Number.POSITIVE_INFINITY : this.clock.nowMs() + withinMs;
    while (!signal.aborted) {
      this.throwIfFailed();
      const leftSeconds = (untilMs - this.clock.nowMs()) / 1000;
      if (leftSeconds <= 0) return [];
      const waitSeconds = Math.min(WAIT_SECONDS, Math.ceil(leftSeconds));
      const first = await this.receive(Math.min(RECEIVE_MAX, max), waitSeconds, signal);
      if (first.length > 0) return await this.fill(first, max, signal);
    }
    return [];
  }

  /** More of what is ready now, several requests at a time: each message that is there came at once. */
  private async fill(taken: Taken<InHand>[], max: number, signal: AbortSignal): Promise<Taken<InHand>[]> {
    let full = taken.length === RECEIVE_MAX;
    while (full && taken.length < max && !signal.aborted) {
      const sizes = tens(Array.from({ length: Math.min(max - taken.length, PARALLEL * RECEIVE_MAX) }));
      const more = await Promise.all(sizes.map(({ length }) => this.receive(length, 0)));
      taken.push(...more.flat());
      full = more.flat().length * 2 >= sizes.length * RECEIVE_MAX;
    }
    return taken;
  }

  /** None when `signal` fires: what SQS hands out at that moment comes again after its visibility timeout. */
  private async receive(max: number, waitSeconds: number, signal?: AbortSignal): Promise<Taken<InHand>[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.url,
      MaxNumberOfMessages: max,
      WaitTimeSeconds: waitSeconds,
      VisibilityTimeout: this.visibilitySeconds,
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"],
    });
    const sentAtMs = this.clock.nowMs();
    try {
      const { Messages = [] } = await this.queues.send(
        command,
        this.config.queue,
        signal ? { abortSignal: signal } : {},
      );
      // Counted from the answer of a long poll, and from the question of a short one: never too long.
      const fromMs = waitSeconds > 0 ? this.clock.nowMs() : sentAtMs;
      return Messages.map((message) => this.taken(message, fromMs));
    } catch (error) {
      if (signal?.aborted) return [];
      throw error;
    }
  }

  private taken(message: Message, fromMs: number): Taken<InHand> {
    const limitMs = fromMs + HIDDEN_MS_MAX - MARGIN_MS;
    const untilMs = fromMs + this.visibilitySeconds * 1000;
    const handle = { receipt: message.ReceiptHandle ?? "", untilMs, limitMs };
    this.inHand.add(handle);
    const letter = readDeadLetter(sqsMessage(message, queueName(this.config.queue)), this.config.mapping ?? {});
    const deliveries = this.countsDeliveries ? Number(message.Attributes?.ApproximateReceiveCount ?? 1) - 1 : 0;
    return { letter, handle, deliveries };
  }

  /** In the order of the handles: a FIFO group goes on when its first message is deleted. */
  async acknowledge(handles: readonly InHand[]): Promise<void> {
    const parts = tens(handles);
    const parallel = isFifo(queueName(this.config.queue)) ? 1 : PARALLEL;
    while (parts.length > 0) await Promise.all(parts.splice(0, parallel).map((part) => this.deleteTen(part)));
  }

  private async deleteTen(handles: readonly InHand[]): Promise<void> {
    const Entries = handles.map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt }));
    const command = new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries });
    const { Failed = [] } = await this.queues.send(command, this.config.queue);
    const failed = new Set(Failed.map(({ Id }) => Number(Id)));
    for (const [index, handle] of handles.entries()) if (!failed.has(index)) this.inHand.delete(handle);
    for (const index of failed) await this.deleteOne(handles[index]!);
  }

  /** A message whose receipt has ended comes again: the store knows its event, and it is deleted then. */
  private async deleteOne(handle: InHand): Promise<void> {
    try {
      const command = new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle: handle.receipt });
      await this.queues.send(command, this.config.queue);
    } catch (error) {
      if (!(error instanceof SqsError && GONE.test(error.code))) throw error;
    }
    this.inHand.delete(handle);
  }

  /** Extends the visibility timeout of held messages three times per timeout, and gives back what would reach its limit before the next time. */
  private async keepHidden(): Promise<void> {
    const { signal } = this.closing;
    const everyMs = (this.visibilitySeconds * 1000) / 3;
    try {
      for (;;) {
        await this.clock.sleep(everyMs, signal);
        const nowMs = this.clock.nowMs();
        const ending = [...this.inHand].filter(({ limitMs }) => limitMs - nowMs <= everyMs);
        for (const handle of ending) this.inHand.delete(handle);
        await this.hide(ending, () => 0);
        const leftSeconds = ({ limitMs }: InHand) => Math.max(0, Math.floor((limitMs - this.clock.nowMs()) / 1000));
        await this.hide(this.inHand, (handle) => Math.min(this.visibilitySeconds, leftSeconds(handle)));
      }
    } catch (error) {
      if (!signal.aborted) this.failure ??= { error };
    }
  }

  /** Rejects when the permission is missing. Another failure is tried again with the next beat. */
  private async hide(handles: Iterable<InHand>, secondsOf: (handle: InHand) => number): Promise<void> {
    for (const part of tens([...handles])) {
      const fromMs = this.clock.nowMs();
      const Entries = part.map((handle, index) => ({
        Id: String(index),
        ReceiptHandle: handle.receipt,
        VisibilityTimeout: secondsOf(handle),
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: this.url, Entries });
      try {
        const { Successful = [] } = await this.queues.send(command, this.config.queue);
        for (const { Id } of Successful) {
          const index = Number(Id);
          part[index]!.untilMs = fromMs + Entries[index]!.VisibilityTimeout * 1000;
        }
      } catch (error) {
        if (error instanceof SqsError && error.code.startsWith("SQS_ACCESS_DENIED")) throw error;
      }
    }
  }

  async lag(): Promise<Lag> {
    const facts = await this.queues.factsOf(this.config.queue);
    return { total: facts?.depth ?? null, parts: [] };
  }

  /** SQS hands a message out again that is not hidden any more, maybe to another worker. */
  holds(handle: InHand): boolean {
    if (handle.untilMs <= this.clock.nowMs()) this.inHand.delete(handle);
    return this.inHand.has(handle);
  }

  private throwIfFailed(): void {
    if (this.failure !== null) throw this.failure.error;
  }

  assertOpen(): void {
    this.throwIfFailed();
    const nowMs = this.clock.nowMs();
    for (const { untilMs } of this.inHand) {
      if (untilMs <= nowMs)
        throw new SqsError(
          "SQS_VISIBILITY_ENDED",
          "messages were held longer than their visibility timeout and will be redelivered",
        );
    }
  }

  async close(graceful: boolean): Promise<void> {
    this.closing.abort();
    // Without the permission, or without an answer, they come back when their visibility timeout ends.
    if (graceful && this.inHand.size > 0) {
      const visible = this.hide(this.inHand, () => 0);
      await atMost(this.clock, HAND_BACK_MS, visible).catch(() => undefined);
    }
    this.queues.close();
  }
}
