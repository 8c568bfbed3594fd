import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobOutcome, QueueName } from "@/lib/lane/port";
import { reasonOf, type SpanFacts, startSpan, withSpan } from "@/lib/platform/tracing/spans";
import { parseTraceparent } from "@/lib/platform/tracing/traceparent.pure";

/**
 * Slices that continue the trace of the request: up to a thousand items. The later slices of a large redrive have traces of their
 * own, each with a link to the request, because what keeps traces cuts those of millions of spans.
 */
const SLICES_IN_TRACE = 5;

/** Runs a job in a span. A run that sent nothing and waits has none: a slow redrive would make one every few seconds. */
export async function inJobSpan(job: LaneJob, queue: QueueName, run: () => Promise<JobOutcome>): Promise<JobOutcome> {
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
