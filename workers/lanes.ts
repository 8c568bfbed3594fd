import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import type { LaneConnection } from "@/lib/lane/connection";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import { type JobOutcome, type LaneWorker, QUEUES, type QueueName } from "@/lib/lane/port";
import { startLaneWorker } from "@/lib/lane/worker";
import type { Clock } from "@/lib/platform/clock";
import { planRedrive } from "@/lib/redrive/plan/plan-redrive";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { runSlice, whileStoreAway } from "@/lib/redrive/run/run-slice";
import { inJobSpan } from "./job-trace";

/**
 * Jobs at a time. The slow lane has few, so that it does not take capacity from the main lane. A walk over a set is a
 * statement of 2,000 events after the other: two of them keep the store busy. With eight jobs in the main lane a redrive
 * left a quarter of two cores idle; more than twelve gain little and cost memory: a job keeps up to 8 MB of payloads.
 */
export const CONCURRENCY: Record<QueueName, number> = { main: 12, slow: 4, sets: 2 };

export type Lanes = { running(): number; stop(graceMs: number): Promise<void> };

/** What the jobs of this worker use. */
type JobDeps = Redriver & { archive: ArchiveStore | null };

/** Works all queues. Rejects with DomainError `queue-unavailable` when the queue cannot be reached at start. */
export async function startLanes(redriver: JobDeps, connection: LaneConnection, clock: Clock): Promise<Lanes> {
  const workers: LaneWorker[] = [];
  for (const lane of QUEUES) {
    workers.push(
      await startLaneWorker({
        connection,
        clock,
        lane,
        concurrency: CONCURRENCY[lane],
        run: (job, signal) => inJobSpan(job, lane, () => runJob(redriver, job, lane, signal)),
        onError: () => undefined,
        log: redriver.log,
      }),
    );
  }
  return {
    running: () => workers.reduce((sum, worker) => sum + worker.running(), 0),
    stop: async (graceMs) => {
      await Promise.all(workers.map((worker) => worker.stop(graceMs)));
    },
  };
}

function runJob(redriver: JobDeps, job: LaneJob, queue: QueueName, signal: AbortSignal): Promise<JobOutcome> {
  if (job.kind === "slice" || job.kind === "canary") {
    // Never rung there: a lane's job has a lane.
    if (queue === "sets") return Promise.resolve({ kind: "done" });
    return runSlice(redriver, job, queue, signal);
  }
  return whileStoreAway(redriver, job, signal, async () => {
    const stopped = AbortSignal.any([signal, redriver.stopping]);
    if (job.kind === "plan") await planRedrive(redriver, job.redriveId, stopped);
    else await workBulkOperation(redriver, job.operationId, stopped);
    return { kind: "done" };
  });
}
