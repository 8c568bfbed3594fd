import { type Clock, systemClock } from "@/lib/platform/clock";
import { bullJob, type OpenQueues, openQueues } from "./bullmq-backend";
import type { LaneConnection } from "./connection";
import type { LaneName, LaneQueue, SliceJob } from "./port";
import { asQueueProblem, queueUnreachable } from "./queue-unavailable";
import { parseSliceJobId } from "./slice-job-id";

/** A ring of 10,000 slices (a million items) goes out in pieces that a server takes in a few milliseconds each. */
const RING_CHUNK = 1_000;

/**
 * The producer of both lanes. Connects on first use and again after a failure, so it may be made while the server is
 * away. Every method of it rejects with DomainError `queue-unavailable` (except `waiting`, which answers null): at once
 * when the connection is down, after a few seconds when the server is silent. Nothing is buffered in memory meanwhile:
 * slices that could not be rung are in Postgres, from where the reconciler rings them.
 */
export function createLaneQueue(connection: LaneConnection, clock: Clock = systemClock): LaneQueue {
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
    ring: (lane, jobs, options = {}) =>
      attempt(async (queues) => {
        for (let start = 0; start < jobs.length; start += RING_CHUNK) {
          const chunk = jobs.slice(start, start + RING_CHUNK);
          await queues[lane].addBulk(chunk.map((job) => bullJob(job, clock.wallMs(), options.delayMs)));
        }
      }),
    waiting: (lane, { due = false } = {}) =>
      attempt((queues) => slicesIn(queues, lane, due ? ["waiting"] : ["delayed", "waiting", "active"])).catch(
        () => null,
      ),
    ping: () => attempt((_, probeWrite) => probeWrite()),
    close: opening.close,
  };
}

/**
 * Read in the order in which a job moves, so that one that moves meanwhile is seen at least once. A slice rung twice is
 * listed once.
 */
async function slicesIn(
  queues: OpenQueues["queues"],
  lane: LaneName,
  states: ("delayed" | "waiting" | "active")[],
): Promise<SliceJob[]> {
  const ids = await queues[lane].getRanges(states, 0, -1);
  const slices = new Map<string, SliceJob>();
  for (const id of ids) {
    const slice = parseSliceJobId(id);
    if (slice) slices.set(`${slice.redriveId}.${slice.slice}`, slice);
  }
  return [...slices.values()];
}

/** Opens on demand; a failure is forgotten, so that the next caller tries again. */
function openOnce(connection: LaneConnection) {
  let opened: Promise<OpenQueues> | null = null;
  let closed = false;
  const open = (): Promise<OpenQueues> => {
    if (closed) return Promise.reject(queueUnreachable(connection.kind, new Error("the lane queue is closed")));
    // Connection errors between two calls need no ear: the next call fails with its own.
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
