import { ListDeadLetterSourceQueuesCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { Adapter, AdapterDeps, ProbeResult, ProbeSample } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { type QueueFacts, SqsQueues } from "@/lib/brokers/sqs/client";
import { SqsError } from "@/lib/brokers/sqs/failure";
import { queueName, type SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { sqsMessage } from "@/lib/brokers/sqs/message";
import { SqsPublisher } from "@/lib/brokers/sqs/publisher";
import { sqsReader } from "@/lib/brokers/sqs/reader";

/** Amazon SQS: reads a dead-letter queue, standard or FIFO; redrives to the queue a message died in. */
export function sqsAdapter(deps: AdapterDeps): Adapter<SqsConfig> {
  return {
    reader: (config) => sqsReader(config, deps),
    probe: (config, signal) => probeQueue(config, deps, signal),
    publisher: (config, lane = "main") => new SqsPublisher(config, lane, deps),
  };
}

type Peek = { sample: ProbeSample[]; note: string };

/**
 * Receives the first messages with a visibility timeout of 0: they stay visible. SQS counts it as a delivery, so a queue
 * that moves messages on at a limit is not looked into, nor one that somebody reads.
 */
async function peek(
  queues: SqsQueues,
  config: SqsConfig,
  facts: QueueFacts | null,
  abortSignal: AbortSignal,
): Promise<Peek> {
  if (facts?.countsDeliveries)
    return {
      sample: [],
      note: "; not sampled, because each look counts towards the redrive policy of this queue itself",
    };
  if (facts !== null && facts.inFlight > 0)
    return { sample: [], note: "; not sampled, because messages of it are being read" };
  const command = new ReceiveMessageCommand({
    QueueUrl: await queues.urlOf(config.queue, { abortSignal }),
    MaxNumberOfMessages: SAMPLE_MAX,
    VisibilityTimeout: 0,
    WaitTimeSeconds: 0,
    MessageSystemAttributeNames: ["All"],
    MessageAttributeNames: ["All"],
  });
  const { Messages = [] } = await queues.send(command, config.queue, { abortSignal });
  const sample = Messages.map((message) =>
    sampleOf(readDeadLetter(sqsMessage(message, queueName(config.queue)), config.mapping ?? {})),
  );
  const note = sample.length === 0 ? "" : `; looked at ${sample.length}, which raises their receive count by one`;
  return { sample, note };
}

/** Names of the queues whose redrive policy points here; an aid for people, empty when it may not be asked. */
async function sourceQueues(queues: SqsQueues, { queue }: SqsConfig, abortSignal: AbortSignal): Promise<string> {
  try {
    const QueueUrl = await queues.urlOf(queue, { abortSignal });
    const { queueUrls = [] } = await queues.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl }), queue, {
      abortSignal,
    });
    return queueUrls.length === 0 ? "" : `, dead-letter queue of ${queueUrls.map(queueName).join(", ")}`;
  } catch (error) {
    if (error instanceof SqsError) return "";
    throw error;
  }
}

/** Whether the queue can be read, how deep it is, and its first messages. Consumes nothing. */
async function probeQueue(config: SqsConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  signal.throwIfAborted();
  const queues = new SqsQueues(config, deps);
  return probed(signal, async () => {
    const facts = await queues.factsOf(config.queue, { abortSignal: signal });
    const { sample, note } = await peek(queues, config, facts, signal);
    const of = await sourceQueues(queues, config, signal);
    const depth = facts?.depth ?? null;
    const denied = facts === null ? "; no permission for sqs:GetQueueAttributes: its depth is unknown" : "";
    const detail = `reached ${queues.address}, queue ${queueName(config.queue)}${of}${note}${denied}`;
    return { detail, depth, sample };
  }).finally(() => queues.close());
}
