import type { Deps } from "@/lib/lane/deps";
import { type LaneJob, laneJobKey } from "@/lib/lane/jobs.shapes";
import type { JobState, QueueName } from "@/lib/lane/port";
import { currentTraceparent } from "@/lib/platform/tracing/spans";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { allSlices } from "@/lib/redrive/plan/redrive-plan.pure";
import { wakeBehind } from "@/lib/redrive/run/store/item-waits.write";

type RunningRedrive = Pick<RedriveRow, "id" | "lane" | "released" | "slices">;

/** Enqueues a started redrive: while its canary holds it back one job works all slices in turn. */
export async function enqueueRedrive(
  deps: Pick<Deps, "lane">,
  redrive: RunningRedrive,
  { slices, ...options }: { slices?: readonly number[]; delayMs?: number | undefined } = {},
): Promise<void> {
  await deps.lane.enqueue(redrive.lane, jobsOf(redrive, slices), options);
}

function jobsOf({ id, released, slices: all }: RunningRedrive, slices?: readonly number[]): LaneJob[] {
  const trace = causeOfJob();
  if (released !== null) return [{ kind: "canary", redriveId: id, ...trace }];
  return (slices ?? allSlices({ slices: all })).map((slice) => ({ kind: "slice", redriveId: id, slice, ...trace }));
}

/** What a job knows of the request or the job that enqueues it. */
function causeOfJob(): Pick<LaneJob, "traceparent"> {
  const traceparent = currentTraceparent();
  return traceparent === undefined ? {} : { traceparent };
}

export async function enqueuePlan(deps: Pick<Deps, "lane">, redriveId: string): Promise<void> {
  await deps.lane.enqueue("sets", [{ kind: "plan", redriveId, ...causeOfJob() }]);
}

/** Enqueues a resumed redrive. A job that waits in the queue since before the pause is not enqueued a second time. */
export async function enqueueResumed(deps: Pick<Deps, "lane">, redrive: RunningRedrive): Promise<void> {
  await enqueueMissing(deps, redrive.lane, jobsOf(redrive), ["delayed", "waiting"]);
}

/**
 * Enqueues the jobs that the queue does not hold in one of these states, by default in any. The slices of a redrive whose canary
 * the queue holds are left to the canary's job. Returns how many were enqueued.
 */
export async function enqueueMissing(
  { lane }: Pick<Deps, "lane">,
  queue: QueueName,
  wanted: readonly LaneJob[],
  states?: readonly JobState[],
): Promise<number> {
  if (wanted.length === 0) return 0;
  const held = await lane.jobs(queue, states);
  // A queue that cannot answer cannot take an enqueue either: the next round of the reconciler tries again.
  if (held === null) return 0;
  const known = new Set(held.map(laneJobKey));
  const missing = wanted.filter(
    (job) =>
      !known.has(laneJobKey(job)) &&
      !(job.kind === "slice" && known.has(laneJobKey({ kind: "canary", redriveId: job.redriveId }))),
  );
  if (missing.length > 0) await lane.enqueue(queue, missing);
  return missing.length;
}

/**
 * Wakes what waits for these items, which have ended or wait themselves, and enqueues the slices of other redrives among them. A failure only
 * delays: the reconciler wakes and enqueues, too.
 */
export async function enqueueBehind(
  { db, lane, log }: Pick<Deps, "db" | "lane" | "log">,
  redriveId: string | null,
  ids: readonly string[],
): Promise<void> {
  try {
    const woken = (await wakeBehind(db, ids)).filter((slice) => slice.redriveId !== redriveId);
    for (const [name, slices] of Map.groupBy(woken, (slice) => slice.lane)) {
      await lane.enqueue(
        name,
        slices.map(({ redriveId: id, slice }) => ({ kind: "slice", redriveId: id, slice })),
      );
    }
  } catch (error) {
    log.warn({ redriveId, err: error }, "what waits for these items is not woken, the reconciler wakes it");
  }
}

async function enqueueBulkOperation(deps: Pick<Deps, "lane">, operationId: string): Promise<void> {
  await deps.lane.enqueue("sets", [{ kind: "bulk", operationId, ...causeOfJob() }]);
}

/** The operation is committed: if the queue cannot be reached, it starts when the reconciler finds it. */
export async function enqueueOrLog(deps: Deps, operationId: string): Promise<void> {
  try {
    await enqueueBulkOperation(deps, operationId);
  } catch (error) {
    deps.log.warn({ operationId, err: error }, "enqueue failed, the reconciler will enqueue");
  }
}
