import { DelayedError, type Job, UnrecoverableError, WaitingError } from "bullmq";
import { type LaneJob, laneJobSchema } from "@/lib/lane/jobs.shapes";
import type { Clock } from "@/lib/platform/clock";
import { type OpenWorker, openWorker } from "./bullmq-backend";
import type { LaneConnection } from "./connection";
import { watchOutages } from "./outages";
import type { LaneWorker, QueueName, RunJob } from "./port";
import { createSliceHolds, type SliceHold, type SliceHolds } from "./slice-holds";

/**
 * Longest time a slice keeps its place while it waits to run again: shorter waits are not worth two round trips. A
 * redrive has up to thousands of slices, a worker eight places: if slices that wait for the items of another redrive held
 * all eight, no place would be left to send those items.
 */
const INSIDE_MS_MAX = 300;

/** A slice whose wait has no end (a rate of 0) runs again after this long. */
const DELAY_MS_MAX = 3_600_000;

/** A worker that died is noticed within LOCK_MS plus twice STALLED_CHECK_MS; its slices then start elsewhere. */
const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 10_000;

/** BullMQ gives a slice up after so many dead workers. A deploy causes fewer, and the reconciler would enqueue it again. */
const STALLED_COUNT_MAX = 10;

/** A pause before the next try while the server refuses connections. */
const RECONNECT_MS = 1_000;

/** An idle worker asks for delayed slices this often, seconds. */
const DRAIN_SECONDS = 5;

/** Longest wait for the queue to take jobs back. A job that it misses starts again when its lock expires. */
const HAND_BACK_MS = 5_000;

type LaneLog = Record<"info" | "warn" | "error", (fields: Record<string, unknown>, message: string) => void>;

export type LaneWorkerOptions = {
  connection: LaneConnection;
  lane: QueueName;
  /** Slices that run at the same time in this process. */
  concurrency: number;
  run: RunJob;
  /** Is called with errors of the queue itself, each kind once per outage. The error of a slice is logged instead. */
  onError: (error: unknown) => void;
  log: LaneLog;
  clock: Clock;
  timing?: { lockMs?: number; stalledCheckMs?: number; handBackMs?: number };
};

/**
 * Takes slices of one lane and runs them. Rejects with DomainError `queue-unavailable` when the queue cannot be reached
 * at start or is unfit; later it survives every outage and takes slices again by itself.
 *
 * A slice that throws is logged and dropped from the queue: its items are still open in Postgres, from where the
 * reconciler enqueues it again.
 */
export async function startLaneWorker(options: LaneWorkerOptions): Promise<LaneWorker> {
  const { clock, lane, log, timing = {} } = options;
  const lockMs = timing.lockMs ?? LOCK_MS;
  const holds = createSliceHolds(clock, lockMs);
  let ping: () => Promise<unknown> = () => Promise.reject(new Error("not connected yet"));
  let enqueueAgain: OpenWorker["enqueueAgain"] = () => Promise.reject(new Error("not connected yet"));
  const outages = watchOutages({
    clock,
    probe: () => ping(),
    onOutage: (error) => {
      log.warn({ lane, err: error }, "lane queue does not answer");
      options.onError(error);
    },
    onOver: (suppressed) => log.info({ lane, suppressed }, "lane queue answers again"),
  });

  const opened = await openWorker(options.connection, lane, {
    process: (job, token) =>
      processSlice({
        job,
        token,
        holds,
        clock,
        log,
        lane,
        run: options.run,
        enqueueAgain: (...enqueue) => enqueueAgain(...enqueue),
      }),
    options: {
      concurrency: options.concurrency,
      lockDuration: lockMs,
      stalledInterval: timing.stalledCheckMs ?? STALLED_CHECK_MS,
      maxStalledCount: STALLED_COUNT_MAX,
      drainDelay: DRAIN_SECONDS,
      runRetryDelay: RECONNECT_MS,
    },
    onError: outages.report,
  }).catch((error) => {
    outages.stop();
    throw error;
  });
  ping = opened.ping;
  enqueueAgain = opened.enqueueAgain;
  listen(opened.worker, { lane, holds, log });
  opened.worker.run().catch(outages.report);

  let stopping: Promise<void> | null = null;
  return {
    running: holds.count,
    stop: (graceMs) => {
      const handBackMs = timing.handBackMs ?? HAND_BACK_MS;
      stopping ??= stop(opened, { clock, holds, graceMs, handBackMs, silence: outages.stop });
      return stopping;
    },
  };
}

function listen(
  worker: OpenWorker["worker"],
  { lane, holds, log }: { lane: QueueName; holds: SliceHolds; log: LaneLog },
): void {
  worker.on("locksRenewed", ({ jobIds }) => holds.renewed(jobIds));
  worker.on("lockRenewalFailed", (jobIds) => holds.lost(jobIds));
  worker.on("failed", (job, error) => log.error({ lane, ...idsOf(job), err: error }, "job failed"));
  worker.on("stalled", (jobId) => log.warn({ lane, jobId }, "job lost its worker, it starts again"));
}

function idsOf(job: Job<unknown> | undefined): Record<string, unknown> {
  const parsed = laneJobSchema.safeParse(job?.data);
  return { jobId: job?.id, ...(parsed.success ? parsed.data : {}) };
}

type Processing = {
  job: Job<unknown>;
  token: string | undefined;
  holds: SliceHolds;
  clock: Clock;
  log: LaneLog;
  lane: QueueName;
  run: RunJob;
  enqueueAgain: OpenWorker["enqueueAgain"];
};

/** Returns to complete the job. BullMQ's own errors say that the job was moved, any other that the job failed. */
async function processSlice(processing: Processing): Promise<void> {
  const { job, token, holds, clock, log, lane, enqueueAgain } = processing;
  const parsed = laneJobSchema.safeParse(job.data);
  if (!parsed.success) throw new UnrecoverableError("not the payload of a lane job");
  const hold = holds.begin(job.id!);
  let end: SliceEnd;
  try {
    end = await runHeld(parsed.data, hold, processing);
  } finally {
    hold.end();
  }
  switch (end.kind) {
    case "done":
      return;
    case "later":
      // A new job behind the others, not this one delayed: on Postgres a delayed job keeps its old place, so slices that
      // come back every second would pass all that have not begun. Whole milliseconds: the Postgres queue refuses a
      // fraction, and a wait never ends early.
      await enqueueAgain(parsed.data, {
        wallMs: clock.wallMs(),
        delayMs: Math.ceil(Math.min(end.delayMs, DELAY_MS_MAX)),
      });
      return;
    case "stopping":
      await job.moveToWait(token);
      throw new WaitingError();
    case "lock-lost":
      log.warn({ lane, ...parsed.data }, "slice aborted: its lock was lost");
      // Another worker may hold the job: with this error BullMQ leaves it as it is.
      throw new DelayedError();
  }
}

type SliceEnd = { kind: "done" } | { kind: "later"; delayMs: number } | { kind: "stopping" } | { kind: "lock-lost" };

async function runHeld(job: LaneJob, hold: SliceHold, { clock, log, lane, run }: Processing): Promise<SliceEnd> {
  const leaveAtMs = clock.nowMs() + INSIDE_MS_MAX;
  const already = hold.aborted();
  if (already !== null) return { kind: already };
  try {
    for (;;) {
      const outcome = await run(job, hold.signal);
      if (hold.aborted() === "lock-lost") return { kind: "lock-lost" };
      if (outcome.kind === "done") return { kind: "done" };
      if (clock.nowMs() + outcome.delayMs > leaveAtMs) return { kind: "later", delayMs: outcome.delayMs };
      await clock.sleep(outcome.delayMs, hold.signal);
    }
  } catch (error) {
    const why = hold.aborted();
    if (why === null) throw error;
    if (error !== hold.signal.reason) log.warn({ lane, ...job, why, err: error }, "slice ended an abort with an error");
    return { kind: why };
  }
}

type Stopping = { clock: Clock; holds: SliceHolds; graceMs: number; handBackMs: number; silence: () => void };

async function stop(opened: OpenWorker, { clock, holds, graceMs, handBackMs, silence }: Stopping): Promise<void> {
  holds.refuse();
  const cancelGrace = clock.timer(graceMs, holds.stopAll);
  const closed = opened.worker.close();
  await holds.idle();
  cancelGrace();
  // While the server is away or has only just come back, handing the jobs back can wait without end, also for a client of
  // BullMQ's own that is between two attempts to connect. After the cut nobody waits for it: the locks expire.
  const cut = Promise.withResolvers<void>();
  const cancelCut = clock.timer(handBackMs, () => {
    // Commands that are cut off now fail: that is not reported.
    silence();
    opened.cut();
    cut.resolve();
  });
  await Promise.race([closed, cut.promise]);
  cancelCut();
  silence();
  await opened.release();
}
