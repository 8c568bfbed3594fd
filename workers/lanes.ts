import type { LaneConnection } from "@/lib/lane/connection";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import { type JobOutcome, type LaneWorker, QUEUES, type QueueName } from "@/lib/lane/port";
import { startLaneWorker } from "@/lib/lane/worker";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";
import { reasonOf, type SpanFacts, startSpan, withSpan } from "@/lib/platform/tracing/spans";
import { parseTraceparent } from "@/lib/platform/tracing/traceparent.pure";
import { planRedrive } from "@/lib/redrive/plan/plan-redrive";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { runSlice, whileStoreAway } from "@/lib/redrive/run/run-slice";
import { workBulkOperation } from "@/workers/work-bulk-operation";

/**
 * Jobs at a time. The slow lane has few, so that it does not take capacity from the main lane. A walk over a set is one
 * statement of thousands of events after another, of a plan two at a time: two walks keep the store busy. With eight jobs in the main lane a redrive
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
    // Never enqueued there: a lane's job has a lane.
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

/**
 * Slices that continue the trace of the request: up to a thousand items. The later slices of a large redrive have traces of their
 * own, each with a link to the request, because what keeps traces cuts those of millions of spans.
 */
const SLICES_IN_TRACE = 5;

/** Runs a job in a span. A run that sent nothing and waits has none: a slow redrive would make one every few seconds. */
async function inJobSpan(job: LaneJob, queue: QueueName, run: () => Promise<JobOutcome>): Promise<JobOutcome> {
  const span = startSpan(job.kind, factsOf(job, queue));
  if (span === null) return run();
  let waits = false;
  try {
    const outcome = await withSpan(span, run);
    waits = outcome.kind === "again";
    return outcome;
  } catch (error) {
    span.fail(reasonOf(error));
    throw error;
  } finally {
    if (!waits || span.children > 0) span.end();
  }
}

function factsOf(job: LaneJob, queue: QueueName): SpanFacts {
  const cause = parseTraceparent(job.traceparent);
  const apart = job.kind === "slice" && job.slice >= SLICES_IN_TRACE;
  const subject =
    job.kind === "bulk" ? { "parkade.operation_id": job.operationId } : { "parkade.redrive_id": job.redriveId };
  return {
    kind: "consumer",
    parent: apart ? null : cause,
    links: apart && cause !== null ? [{ to: cause, attributes: { "parkade.link": "request" } }] : [],
    attributes: { "parkade.queue": queue, ...subject, ...(job.kind === "slice" ? { "parkade.slice": job.slice } : {}) },
  };
}
