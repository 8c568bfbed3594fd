import type { Job } from "bullmq";
import { abortable } from "@/lib/brokers/abortable";
import { describeStore, type JobStore, openJobStore, storeAddress } from "@/lib/brokers/bullmq/job-store";
import { type BullmqConfig, bullmq } from "@/lib/brokers/bullmq/kind.shapes";
import { BullmqPublisher } from "@/lib/brokers/bullmq/publisher";
import { assertQueue, bullmqReader, letterOf } from "@/lib/brokers/bullmq/reader";
import { everyHeader } from "@/lib/brokers/outbound-headers";
import type { Adapter, AdapterDeps, ProbeResult } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";

/** The failed jobs of another application's BullMQ queue, on Redis or on PostgreSQL. */
export function bullmqAdapter(deps: AdapterDeps): Adapter<BullmqConfig> {
  return {
    reader: (config) => bullmqReader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config, lane = "main") => new BullmqPublisher(config, lane, deps),
    leftOut: (_, message) => everyHeader(message),
  };
}

function probe(config: BullmqConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  let store: JobStore | null = null;
  const look = async () => {
    store = await openJobStore(config, { name: "parkade-probe", signal }, deps);
    await assertQueue(store, config);
    const queue = store.queue(config.queue);
    const jobs = (await queue.getJobs(["failed"], 0, SAMPLE_MAX - 1, true)) as (Job | undefined)[];
    const read = await Promise.all(jobs.map((job) => (job ? letterOf(store!, config, job) : null)));
    const sample = read.flatMap((one) => (one === null ? [] : [sampleOf(one.letter)]));
    const depth = await queue.getFailedCount();
    return { detail: `connected to ${storeAddress(config)}, ${bullmq.reads(config)}`, depth, sample };
  };
  const looking = probed(
    signal,
    () => abortable(look(), signal),
    (error) => describeStore(error, config),
  );
  return looking.finally(() => store?.close());
}
