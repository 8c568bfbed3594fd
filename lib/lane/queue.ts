import { type LaneJob, laneJobKey } from "@/lib/lane/jobs.shapes";
import type { Clock } from "@/lib/platform/clock";
import { bullJob, type OpenQueues, openQueues } from "./bullmq-backend";
import type { LaneConnection } from "./connection";
import { parseLaneJobId } from "./lane-job-id";
import type { JobState, LaneQueue, QueueName } from "./port";
import { asQueueProblem, queueUnreachable } from "./queue-unavailable";

/** An enqueue of 10,000 jobs (a million items) goes out in pieces that a server takes in a few milliseconds each. */
const RING_CHUNK = 1_000;

/**
 * The producer of both lanes. Connects on first use and again after a failure, so it may be made while the server is
 * away. Every method of it rejects with DomainError `queue-unavailable` (except `jobs`, which answers null): at once
 * when the connection is down, after a few seconds when the server is silent. Nothing is buffered in memory meanwhile:
 * the slices of an enqueue that failed are in Postgres, from where the reconciler enqueues them.
 */
export function createLaneQueue(connection: LaneConnection, clock: Clock): LaneQueue {
  const opening = openOnce(connection);

  async function attempt<T>(
    work: (queues: OpenQueues["queues"], probeWrite: OpenQueues["probeWrite"]) => Promise<T>,
  ): Promise<T> {
    try {
      const { queues, probeWrite } = await opening.open();
      return await work(queues, probeWrite);
    } catch (error) {
      throw asQueueProblem(connection.kind, error);
    }
  }

  return {
    backend: connection.kind,
    enqueue: (lane, jobs, options = {}) =>
      attempt(async (queues) => {
        for (let start = 0; start < jobs.length; start += RING_CHUNK) {
          const chunk = jobs.slice(start, start + RING_CHUNK);
          await queues[lane].addBulk(chunk.map((job) => bullJob(job, clock.wallMs(), options.delayMs)));
        }
      }),
    jobs: (lane, states = IN_ORDER) => attempt((queues) => jobsIn(queues, lane, states)).catch(() => null),
    ping: () => attempt((_, probeWrite) => probeWrite()),
    close: opening.close,
  };
}

/** The order in which a job moves: one that moves while the states are read is seen at least once. */
const IN_ORDER: readonly JobState[] = ["delayed", "waiting", "active"];

/** A job that was enqueued twice is listed once. */
async function jobsIn(queues: OpenQueues["queues"], lane: QueueName, states: readonly JobState[]): Promise<LaneJob[]> {
  const ids = await queues[lane].getRanges(
    IN_ORDER.filter((state) => states.includes(state)),
    0,
    -1,
  );
  const jobs = ids.map(parseLaneJobId).filter((job) => job !== null);
  return [...new Map(jobs.map((job) => [laneJobKey(job), job])).values()];
}

/** Opens on demand; a failure is forgotten, so that the next caller tries again. */
function openOnce(connection: LaneConnection) {
  let opened: Promise<OpenQueues> | null = null;
  let closed = false;
  const open = (): Promise<OpenQueues> => {
    if (closed) return Promise.reject(queueUnreachable(connection.kind, new Error("the lane queue is closed")));
    // An error of the connection between two calls is not reported: the next call fails with an error of its own.
    opened ??= openQueues(connection, () => {}).catch((error) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  const close = async () => {
    closed = true;
    // A failed opening has left nothing to close.
    const last = await opened?.catch(() => null);
    await last?.close();
  };
  return { open, close };
}
