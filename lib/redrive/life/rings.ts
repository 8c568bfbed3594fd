import { type LaneJob, laneJobKey } from "@/lib/lane/jobs.shapes";
import type { JobState, LaneName, QueueName } from "@/lib/lane/port";
import type { Deps } from "@/lib/platform/deps";
import { currentTraceparent } from "@/lib/platform/tracing/spans";
import { slicesNextInLine } from "@/lib/redrive/run/store/slice-waits.write";

/** Rings a started redrive: while its canary holds it back one job works all slices in turn. */
export async function ringRedrive(
  deps: Pick<Deps, "lane">,
  redrive: { id: string; lane: LaneName; canary: boolean },
  slices: readonly number[],
  options: { delayMs?: number } = {},
): Promise<void> {
  await deps.lane.ring(redrive.lane, jobsOf(redrive, slices), options);
}

function jobsOf({ id, canary }: { id: string; canary: boolean }, slices: readonly number[]): LaneJob[] {
  const trace = causeOfJob();
  if (canary) return [{ kind: "canary", redriveId: id, ...trace }];
  return slices.map((slice) => ({ kind: "slice", redriveId: id, slice, ...trace }));
}

/** What a job knows of the request or the job that rings it. */
function causeOfJob(): Pick<LaneJob, "traceparent"> {
  const traceparent = currentTraceparent();
  return traceparent === undefined ? {} : { traceparent };
}

export async function ringPlan(deps: Pick<Deps, "lane">, redriveId: string): Promise<void> {
  await deps.lane.ring("sets", [{ kind: "plan", redriveId, ...causeOfJob() }]);
}

/** Rings a resumed redrive. A job that waits in the queue since before the pause is not rung a second time. */
export async function ringResumed(
  deps: Pick<Deps, "lane">,
  redrive: { id: string; lane: LaneName; canary: boolean },
  slices: readonly number[],
): Promise<void> {
  await ringMissing(deps, redrive.lane, jobsOf(redrive, slices), ["delayed", "waiting"]);
}

/**
 * Rings the jobs that the queue does not hold in one of these states, by default in any. The slices of a redrive whose canary
 * the queue holds are left to the canary's job. Returns how many were rung.
 */
export async function ringMissing(
  { lane }: Pick<Deps, "lane">,
  queue: QueueName,
  wanted: readonly LaneJob[],
  states?: readonly JobState[],
): Promise<number> {
  if (wanted.length === 0) return 0;
  const held = await lane.jobs(queue, states);
  // A queue that cannot answer cannot take a ring either: the next round of the reconciler tries again.
  if (held === null) return 0;
  const known = new Set(held.map(laneJobKey));
  const missing = wanted.filter(
    (job) =>
      !known.has(laneJobKey(job)) &&
      !(job.kind === "slice" && known.has(laneJobKey({ kind: "canary", redriveId: job.redriveId }))),
  );
  if (missing.length > 0) await lane.ring(queue, missing);
  return missing.length;
}

/**
 * Rings the slices of other redrives that waited for these items, which are closed. A ring that fails only delays: the
 * reconciler rings the slice, too.
 */
export async function ringNextInLine(
  { db, lane, log }: Pick<Deps, "db" | "lane" | "log">,
  redriveId: string,
  ids: readonly string[],
): Promise<void> {
  try {
    const slices = await slicesNextInLine(db, redriveId, ids);
    for (const [name, waiting] of Map.groupBy(slices, (slice) => slice.lane)) {
      await lane.ring(
        name,
        waiting.map(({ redriveId: id, slice }) => ({ kind: "slice", redriveId: id, slice })),
      );
    }
  } catch (error) {
    log.warn({ redriveId, err: error }, "redrives that wait for this one not rung, the reconciler rings them");
  }
}

export async function ringBulkOperation(deps: Pick<Deps, "lane">, operationId: string): Promise<void> {
  await deps.lane.ring("sets", [{ kind: "bulk", operationId, ...causeOfJob() }]);
}
