import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { BatchedPublisher, type BatchOutcome, type PublishMany } from "@/lib/brokers/batched-publisher";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishPhase,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { probed } from "@/lib/brokers/probe-sample";
import { SqsQueues } from "@/lib/brokers/sqs/client";
import { type SqsError, sqsCode } from "@/lib/brokers/sqs/failure";
import { queueName, type SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { outboundOf, type SqsOutbound } from "@/lib/brokers/sqs/outbound";

/** Messages of one request: a limit of SQS. */
const BATCH_MAX = 10;
/** Bytes of one request with several messages. SQS takes 1 MiB; servers like it, and SQS before 2025, a quarter of it. */
const BATCH_BYTES_MAX = 262_144;
const IN_FLIGHT_MAX = 16;

type Numbered = SqsOutbound & { index: number };

/** Failures in a batch that SQS names by itself: the message was not taken. */
const REFUSED = /THROTTL|OVER_LIMIT|ACCESS_DENIED|KMS_|INVALID|TOO_LONG|MISSING|UNSUPPORTED/;

/** Parts of one queue each, of ten messages and `BATCH_BYTES_MAX` bytes at most, in their order. */
function requestsOf(messages: readonly Numbered[]): Numbered[][] {
  const open = new Map<string, { messages: Numbered[]; bytes: number }>();
  const requests: Numbered[][] = [];
  for (const message of messages) {
    const request = open.get(message.queue);
    if (
      request !== undefined &&
      request.messages.length < BATCH_MAX &&
      request.bytes + message.bytes <= BATCH_BYTES_MAX
    ) {
      request.messages.push(message);
      request.bytes += message.bytes;
      continue;
    }
    const begun = { messages: [message], bytes: message.bytes };
    open.set(message.queue, begun);
    requests.push(begun.messages);
  }
  return requests;
}

/** Sends to one queue, or to the queues that messages came from, in batches of ten. */
export class SqsPublisher implements Publisher {
  private readonly config: SqsConfig;
  private readonly lane: "main" | "slow";
  private readonly queues: SqsQueues;
  private readonly batched: BatchedPublisher;
  private closed = false;

  constructor(config: SqsConfig, lane: "main" | "slow", deps: AdapterDeps) {
    this.config = config;
    this.lane = lane;
    this.queues = new SqsQueues(config, deps);
    this.batched = new BatchedPublisher((...given) => this.publishMany(...given), {
      batchMax: BATCH_MAX,
      inFlightMax: IN_FLIGHT_MAX,
    });
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    if (this.closed) throw new PublishError("SQS_CLOSED", "the publisher is closed", { sent: "no" });
    return await this.batched.publish(message, signal, onPhase);
  }

  private readonly publishMany: PublishMany = async (batch, signal, onPhase) => {
    const outcomes: BatchOutcome[] = [];
    const sendable: Numbered[] = [];
    for (const [index, message] of batch.entries()) {
      try {
        sendable.push({ ...outboundOf(message, this.config, this.lane), index });
      } catch (error) {
        outcomes[index] = error as PublishError;
      }
    }
    await Promise.all(
      requestsOf(sendable).map(async (request) => {
        const sent = await this.send(request, signal, (phase) => {
          for (const { index } of request) onPhase(index, phase);
        });
        for (const [at, { index }] of request.entries()) outcomes[index] = sent[at]!;
      }),
    );
    return outcomes;
  };

  /** One request; an outcome for each of its messages. Rejects only with `signal.reason`. */
  private async send(request: readonly Numbered[], signal: AbortSignal, onPhase: OnPhase): Promise<BatchOutcome[]> {
    const { queue } = request[0]!;
    let left = false;
    const options = {
      abortSignal: signal,
      onPhase: (phase: PublishPhase) => {
        left = true;
        onPhase(phase);
      },
    };
    try {
      const QueueUrl = await this.queues.urlOf(queue, { abortSignal: signal });
      const Entries = request.map(({ entry, index }) => ({ ...entry, Id: String(index) }));
      const { Successful = [], Failed = [] } = await this.queues.send(
        new SendMessageBatchCommand({ QueueUrl, Entries }),
        queue,
        options,
      );
      const taken = new Set(Successful.map(({ Id }) => Id));
      const failed = new Map(Failed.map((failure) => [failure.Id, failure]));
      return request.map(({ index }) => {
        const id = String(index);
        if (taken.has(id)) return { status: "sent" };
        return refusalOf(queueName(queue), failed.get(id));
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code, status, message } = error as SqsError;
      // An answer of 4xx was given before anything was stored; a server error may come at any time.
      const sent = left && (status === null || status >= 500) ? "maybe" : "no";
      return request.map(
        () => new PublishError(code, message, { sent, cause: error, ...(status === null ? {} : { status }) }),
      );
    }
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const { queue, redriveTo, slowLaneQueue } = this.config;
    const target = (this.lane === "slow" ? slowLaneQueue : undefined) ?? redriveTo?.queue;
    return probed(signal, async () => {
      // Without a queue of its own: the dead-letter queue shows that the server answers, and takes the credentials.
      const facts = await this.queues.factsOf(target ?? queue, { abortSignal: signal });
      const where = target === undefined ? "" : `, queue ${queueName(target)}`;
      return {
        detail: `reached ${this.queues.address}${where}`,
        depth: target === undefined ? null : (facts?.depth ?? null),
      };
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.queues.close();
  }
}

type Failed = { Code?: string | undefined; Message?: string | undefined; SenderFault?: boolean | undefined };

function refusalOf(queue: string, failed: Failed | undefined): PublishError {
  if (failed === undefined)
    return new PublishError("SQS_NO_OUTCOME", `queue ${queue}: SQS returned no result for this message`, {
      sent: "maybe",
    });
  const code = sqsCode(failed.Code ?? "Refused");
  const sent = failed.SenderFault === true || REFUSED.test(code) ? "no" : "maybe";
  return new PublishError(code, `queue ${queue} refused the message: ${failed.Message ?? code}`, { sent });
}
