import type { Adapter, AdapterDeps } from "@/lib/brokers/port";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { probeQueue } from "@/lib/brokers/sqs/probe";
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
